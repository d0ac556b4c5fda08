/* SPDX-License-Identifier: Apache-2.0 */
#include "base/version.h"

/* Generated in the build folder (cmake/VatioVersion.cmake). */
#include "vt_build_commit.h"
#include "vt_build_config.h"

const char *vt_version(void)
{
    return VT_CONFIG_VERSION;
}

const char *vt_version_commit(void)
{
    return VT_CONFIG_COMMIT;
}

const char *vt_build_info(void)
{
    return "version    " VT_CONFIG_VERSION "\n"
           "commit     " VT_CONFIG_COMMIT "\n"
           "compiler   " VT_CONFIG_COMPILER "\n"
           "target     " VT_CONFIG_TARGET "\n"
           "build type " VT_CONFIG_BUILD_TYPE "\n"
           "flags      " VT_CONFIG_FLAGS "\n"
           "sanitizers " VT_CONFIG_SANITIZE "\n"
           "libraries  " VT_CONFIG_LIBRARIES "\n";
}
