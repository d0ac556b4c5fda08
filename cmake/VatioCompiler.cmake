# SPDX-License-Identifier: Apache-2.0
# How everything of vatio is compiled: the language, the warnings, the sanitizers.
# Flags live in interface targets, never in CMAKE_C_FLAGS.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(VT_WERROR "Treat warnings as errors" OFF)
option(VT_FUZZ "Build the libFuzzer programs (needs clang)" OFF)
set(VT_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address,undefined' or 'thread'")

add_library(vt_compiler INTERFACE)
target_compile_definitions(vt_compiler INTERFACE _GNU_SOURCE)
target_compile_options(vt_compiler INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings
  -Wcast-align -Wundef -Wvla -Wformat=2 -Wno-missing-field-initializers
  -fno-math-errno -ffp-contract=off -fno-strict-aliasing
  $<$<BOOL:${VT_WERROR}>:-Werror>
  # Clang warns where a loop that may become vector code does not: at -O1 none does.
  $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>
  # snprintf cuts on purpose where a text has a limit. Clang calls every NAN and INFINITY of a double
  # a promotion.
  $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation -Wdouble-promotion>)
if(VT_SANITIZE)
  target_compile_options(vt_compiler INTERFACE
    -fsanitize=${VT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(vt_compiler INTERFACE -fsanitize=${VT_SANITIZE})
  # gcc 13 keeps too little alignment for AVX-512 on the stacks that this would check.
  if(VT_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(vt_compiler INTERFACE "SHELL:--param asan-use-after-return=0")
  endif()
endif()
if(VT_FUZZ)
  target_compile_options(vt_compiler INTERFACE -fsanitize=fuzzer-no-link)
endif()
