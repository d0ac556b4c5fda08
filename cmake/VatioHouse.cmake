# SPDX-License-Identifier: Apache-2.0
# Targets for people: `format` rewrites the sources, `lint` runs clang-tidy over them. ./check
# runs the same scripts.
foreach(task format lint)
  add_custom_target(${task}
    COMMAND "${PROJECT_SOURCE_DIR}/tools/${task}.sh" "${PROJECT_BINARY_DIR}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" USES_TERMINAL VERBATIM)
endforeach()
