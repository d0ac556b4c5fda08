/* SPDX-License-Identifier: Apache-2.0 */
/* What this build is: for --version, --build-info and results. */
#ifndef VT_BASE_VERSION_H
#define VT_BASE_VERSION_H

#include "vatio/status.h"

/* "0.1.0". Static storage. */
VT_API const char *vt_version(void);
/* The commit that it was built from, "v0.1.0-3-g1a2b3c4-dirty"; "unknown" outside a checkout.
 * Static storage. */
VT_API const char *vt_version_commit(void);
/* What tells this very build from every other one, of the same commit too: the linker's build id in
 * hexadecimal, the commit where it made none. Static storage; thread-safe. */
const char *vt_build_id(void);
/* Lines of "name value": version, commit, compiler, build type, flags, libraries. Ends with a
 * newline. Static storage. */
VT_API const char *vt_build_info(void);

#endif
