# SPDX-License-Identifier: Apache-2.0
# What a build says about itself (src/base/version.c). The configuration is written when CMake
# runs; the commit at every build, so that it is never stale, and only when it has changed.

set(VT_GENERATED "${PROJECT_BINARY_DIR}/generated")

# vt_version_headers(TARGET): makes vt_build_config.h and vt_build_commit.h for that target alone.
function(vt_version_headers target)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(STRIP "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}}" flags)
  set(sanitize "${VT_SANITIZE}")
  if(NOT sanitize)
    set(sanitize "none")
  endif()
  set(libraries "jansson ${JANSSON_VERSION}, hwloc ${HWLOC_VERSION}, libturbojpeg ${TURBOJPEG_VERSION}")
  string(APPEND libraries ", libpng ${PNG_VERSION}, inih ${INIH_VERSION}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/vt_build_config.h.in"
    "${VT_GENERATED}/version/vt_build_config.h" @ONLY)
  add_custom_target(vt_commit
    COMMAND "${CMAKE_COMMAND}" -D "SOURCE=${PROJECT_SOURCE_DIR}"
      -D "HEADER=${VT_GENERATED}/version/vt_build_commit.h"
      -P "${PROJECT_SOURCE_DIR}/cmake/commit.cmake"
    BYPRODUCTS "${VT_GENERATED}/version/vt_build_commit.h"
    COMMENT "" VERBATIM)
  add_dependencies(${target} vt_commit)
  target_include_directories(${target} PRIVATE "${VT_GENERATED}/version")
endfunction()
