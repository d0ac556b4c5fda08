# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and the target `bundle`: the same as a folder that runs
# wherever it is copied.

# DT_RPATH, not DT_RUNPATH: it also holds for what our libraries need in turn, so that a bundle
# finds all of its own.
set_target_properties(vatio PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(vatio_program PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
target_link_options(vatio PRIVATE -Wl,--disable-new-dtags)
target_link_options(vatio_program PRIVATE -Wl,--disable-new-dtags)

install(TARGETS vatio LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS vatio_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/vatio"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/examples/load.c"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
install(PROGRAMS "${PROJECT_SOURCE_DIR}/examples/official_loadgen.py"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")

# The manual page and the completion come out of the program itself: one table, no second copy.
set(manual "${PROJECT_BINARY_DIR}/share/vatio.1")
set(completion "${PROJECT_BINARY_DIR}/share/vatio.bash")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/share")
add_custom_command(OUTPUT "${manual}" "${completion}"
  COMMAND vatio_program manual > "${manual}"
  COMMAND vatio_program completion > "${completion}"
  DEPENDS vatio_program VERBATIM COMMENT "Writing the manual page and the shell completion")
add_custom_target(vt_manual ALL DEPENDS "${manual}" "${completion}")
install(FILES "${manual}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES "${completion}"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME vatio)

# pkg-config finds the headers and the library from where the .pc file lies.
file(RELATIVE_PATH VT_PC_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
configure_file("${PROJECT_SOURCE_DIR}/cmake/vatio.pc.in" "${PROJECT_BINARY_DIR}/vatio.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/vatio.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

set(VT_BUNDLE "${PROJECT_BINARY_DIR}/vatio-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR}")
add_custom_target(bundle
  COMMAND "${CMAKE_COMMAND}" -D "BUILD=${PROJECT_BINARY_DIR}" -D "BUNDLE=${VT_BUNDLE}"
    -D "LIBDIR=${CMAKE_INSTALL_LIBDIR}" -P "${PROJECT_SOURCE_DIR}/cmake/bundle.cmake"
  DEPENDS vatio vatio_program vt_manual
  COMMENT "Bundling into ${VT_BUNDLE}" VERBATIM)
