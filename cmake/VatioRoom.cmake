# SPDX-License-Identifier: Apache-2.0
# A room is a folder of src/ and an object library. Its headers are included as "room/header.h"
# through an include path that holds this room alone, so that a room sees exactly the rooms that it
# names under USES (and what those use): a wrong include does not compile.

set(VT_ROOM_INCLUDES "${PROJECT_BINARY_DIR}/rooms")
set_property(GLOBAL PROPERTY VT_ROOMS "")

# vt_room(NAME SOURCES file… [USES room…] [LIBRARIES target…])
function(vt_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  file(MAKE_DIRECTORY "${VT_ROOM_INCLUDES}/${name}")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${VT_ROOM_INCLUDES}/${name}/${name}" SYMBOLIC)
  add_library(vt_${name} OBJECT ${ROOM_SOURCES})
  target_include_directories(vt_${name} PUBLIC
    "${VT_ROOM_INCLUDES}/${name}" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(vt_${name} PUBLIC vt_compiler Threads::Threads ${ROOM_LIBRARIES})
  foreach(used IN LISTS ROOM_USES)
    target_link_libraries(vt_${name} PUBLIC vt_${used}_headers)
  endforeach()
  # What a room that uses this one gets: the include paths, not the objects.
  add_library(vt_${name}_headers INTERFACE)
  target_include_directories(vt_${name}_headers INTERFACE
    "${VT_ROOM_INCLUDES}/${name}" "${PROJECT_SOURCE_DIR}/include")
  foreach(used IN LISTS ROOM_USES)
    target_link_libraries(vt_${name}_headers INTERFACE vt_${used}_headers)
  endforeach()
  set_property(GLOBAL APPEND PROPERTY VT_ROOMS ${name})
endfunction()
