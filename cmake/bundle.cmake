# SPDX-License-Identifier: Apache-2.0
# cmake -D BUILD=… -D BUNDLE=… -D LIBDIR=… -P bundle.cmake: installs into BUNDLE and adds every
# shared library that is needed and is not part of the C library, each with its licence.
cmake_policy(SET CMP0057 NEW)

file(REMOVE_RECURSE "${BUNDLE}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${BUNDLE}" --strip
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(NOT LIBDIR STREQUAL "lib")
  message(FATAL_ERROR "A bundle keeps its libraries in lib/, this build installs into ${LIBDIR}: "
    "configure with -DCMAKE_INSTALL_LIBDIR=lib")
endif()

file(GLOB ours "${BUNDLE}/lib/*.so")
# The C library belongs to the system that the bundle runs on.
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES "${BUNDLE}/bin/vatio"
  LIBRARIES ${ours}
  RESOLVED_DEPENDENCIES_VAR needed
  UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|resolv)\\.so" "^ld-linux" "^libvatio\\.so")
if(missing)
  message(FATAL_ERROR "Needed and not found: ${missing}")
endif()

set(licences "${BUNDLE}/share/doc/vatio/licences")
find_program(DPKG_QUERY dpkg-query)
foreach(library IN LISTS needed)
  get_filename_component(name "${library}" NAME)
  file(REAL_PATH "${library}" file)
  # Under the name by which it is asked for, as one file.
  file(COPY_FILE "${file}" "${BUNDLE}/lib/${name}")
  if(DPKG_QUERY)
    # Some packages still name their files without the /usr that they land in.
    string(REGEX REPLACE "^/usr/" "/" tail "${file}")
    execute_process(COMMAND "${DPKG_QUERY}" -S "*${tail}" OUTPUT_VARIABLE owner ERROR_QUIET)
    string(REGEX REPLACE ":.*" "" package "${owner}")
    if(package AND EXISTS "/usr/share/doc/${package}/copyright")
      file(MAKE_DIRECTORY "${licences}")
      file(COPY_FILE "/usr/share/doc/${package}/copyright" "${licences}/${package}")
    endif()
  endif()
  message(STATUS "with ${name}")
endforeach()
