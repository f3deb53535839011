# `cmake --install`: the libraries, the headers, and a package for find_package(stategraph [COMPONENTS rocksdb encryption]).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/stategraph")

# Each component has an export set of its own, so that the package can be used where RocksDB or OpenSSL is not installed.
install(TARGETS stategraph stategraph_core stategraph_json stategraph_async EXPORT stategraphTargets FILE_SET HEADERS FILE_SET kit)
install(EXPORT stategraphTargets NAMESPACE stategraph:: DESTINATION "${_package_dir}")
foreach(_component IN ITEMS schema workflow workflow_json model model_http agent serve rocksdb encryption)
  if(TARGET stategraph_${_component})
    install(TARGETS stategraph_${_component} EXPORT stategraph_${_component}_targets FILE_SET HEADERS)
    install(EXPORT stategraph_${_component}_targets NAMESPACE stategraph:: DESTINATION "${_package_dir}")
  endif()
endforeach()
unset(_component)

configure_package_config_file(cmake/stategraphConfig.cmake.in "${PROJECT_BINARY_DIR}/stategraphConfig.cmake"
                              INSTALL_DESTINATION "${_package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change anything.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/stategraphConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/stategraphConfig.cmake" "${PROJECT_BINARY_DIR}/stategraphConfigVersion.cmake"
        DESTINATION "${_package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
unset(_package_dir)
