# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What `cmake --install` and `cpack` deliver besides the tools: libraries with
# headers, find_package and pkg-config, the Python package, man pages and
# completions, and the Debian package. docs/Api.md says how to use them.

include(CMakePackageConfigHelpers)

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/ashlar/Api)
install(DIRECTORY include/ashlar/Api/ DESTINATION ${headers})
install(TARGETS AshlarRuntime AshlarCompiler AshlarRuntimeStatic
    AshlarCompilerStatic
  EXPORT AshlarTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

# find_package(Ashlar). The shared libraries need nothing from others to be
# linked; the static ones name what they need by its files.
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Ashlar)
install(EXPORT AshlarTargets NAMESPACE Ashlar:: DESTINATION ${package})
configure_package_config_file(cmake/AshlarConfig.cmake.in
  ${PROJECT_BINARY_DIR}/AshlarConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/AshlarConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/AshlarConfig.cmake
  ${PROJECT_BINARY_DIR}/AshlarConfigVersion.cmake DESTINATION ${package})

# pkg-config; the prefix is where the file lies, so that it can be moved.
file(RELATIVE_PATH ASHLAR_PC_PREFIX
  ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig
  ${CMAKE_INSTALL_PREFIX})
foreach(part runtime compiler)
  configure_file(cmake/ashlar-${part}.pc.in
    ${PROJECT_BINARY_DIR}/ashlar-${part}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/ashlar-${part}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The Python package. Debian's interpreter looks in dist-packages.
set(python_home lib/python3/dist-packages)
install(DIRECTORY tools/python/ashlar DESTINATION ${python_home}
  FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed"
  PATTERN "*.yaml" PATTERN "*.json" PATTERN "__pycache__" EXCLUDE)
get_property(has_python GLOBAL PROPERTY ASHLAR_HAS_PYTHON)
if(has_python)
  install(TARGETS AshlarPython LIBRARY DESTINATION ${python_home}/ashlar)
endif()

# Man pages and completions are what --help says, made anew with each tool.
set(documented ashlar ashlarc ashlar-run ashlar-prune ashlar-tiles ashlar-reduce
  ashlar-reference ashlar-translate ashlar-as ashlar-dis)
set(documented_scripts ashlar-eval ashlar-sweep)
set(pages ${PROJECT_BINARY_DIR}/share)
set(generated)
foreach(tool ${documented} ${documented_scripts})
  list(APPEND generated ${pages}/man/man1/${tool}.1
    ${pages}/bash-completion/completions/${tool}
    ${pages}/zsh/vendor-completions/_${tool})
  if(TARGET ${tool})
    list(APPEND programs $<TARGET_FILE:${tool}>)
  else()
    list(APPEND programs ${PROJECT_BINARY_DIR}/bin/${tool})
  endif()
endforeach()
set(script ${PROJECT_SOURCE_DIR}/tools/scripts/cli_pages.py)
add_custom_command(OUTPUT ${generated}
  COMMAND ${ASHLAR_PYTHON} ${script} ${pages} ${PROJECT_VERSION} ${programs}
  DEPENDS ${documented} ${script}
    ${PROJECT_SOURCE_DIR}/tools/python/ashlar/campaign/campaign.py
    ${PROJECT_SOURCE_DIR}/tools/python/ashlar/evaluate/cli.py
    ${PROJECT_SOURCE_DIR}/tools/python/ashlar/sweep/cli.py
  VERBATIM
  COMMENT "Man pages and completions")
add_custom_target(ashlar-pages ALL DEPENDS ${generated})
install(DIRECTORY ${pages}/ DESTINATION share)

# Debian package: dependencies as dpkg-shlibdeps finds them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ashlar)
set(CPACK_PACKAGE_CONTACT "Ashlar developers <ashlar@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Libraries of this package itself.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
# dpkg-shlibdeps finds LLVM by the link in its development package, which says
# nothing of the library's own.
set(CPACK_DEBIAN_PACKAGE_DEPENDS
  "libllvm${LLVM_VERSION_MAJOR}, python3, python3-numpy")
if(has_python)
  # The extension is for one version of the interpreter.
  math(EXPR next "${ASHLAR_PYTHON_MINOR} + 1")
  string(PREPEND CPACK_DEBIAN_PACKAGE_DEPENDS
    "python3 (>= 3.${ASHLAR_PYTHON_MINOR}~), python3 (<< 3.${next}~), ")
endif()
# What ashlar-eval and ashlar-sweep import.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
  "python3-yaml, python3-onnx, python3-pil, python3-matplotlib")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-pandas, cmake, slurm-wlm")
include(CPack)
