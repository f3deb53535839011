# `cmake --install`: the libraries, the headers, and a package for find_package(stategraph [COMPONENTS rocksdb sqlite postgres encryption]).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/stategraph")

# Each component has an export set of its own, so that the package can be used where RocksDB, SQLite, libpq or OpenSSL is not installed.
install(TARGETS stategraph stategraph_core stategraph_json stategraph_async EXPORT stategraphTargets FILE_SET HEADERS FILE_SET kit)
install(EXPORT stategraphTargets NAMESPACE stategraph:: DESTINATION "${_package_dir}")
foreach(_component IN LISTS STATEGRAPH_COMPONENTS)
  if(TARGET stategraph_${_component})
    install(TARGETS stategraph_${_component} EXPORT stategraph_${_component}_targets FILE_SET HEADERS)
    install(EXPORT stategraph_${_component}_targets NAMESPACE stategraph:: DESTINATION "${_package_dir}")
  endif()
endforeach()
unset(_component)
if(TARGET stategraph_command)
  install(TARGETS stategraph_command)
endif()

# What each component is built on, and what a program that uses it must find, for the package's configuration.
set(_facts "")
foreach(_component IN LISTS STATEGRAPH_COMPONENTS)
  set(_all_below "")
  foreach(_below IN LISTS _product_${_component}_PUBLIC)
    list(APPEND _all_below ${_all_below_${_below}})
    if(_below IN_LIST STATEGRAPH_COMPONENTS)
      list(APPEND _all_below ${_below})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES _all_below)
  set(_all_below_${_component} ${_all_below})
  list(JOIN _all_below " " _all_below)
  string(APPEND _facts "set(_stategraph_below_${_component} ${_all_below})\n")
  string(APPEND _facts "set(_stategraph_package_${_component} \"${_product_${_component}_PACKAGE}\")\n")
endforeach()
string(STRIP "${_facts}" _facts)
list(JOIN STATEGRAPH_COMPONENTS " " _components)
list(JOIN STATEGRAPH_COMPONENTS ", " _components_text)

configure_package_config_file(cmake/stategraphConfig.cmake.in "${PROJECT_BINARY_DIR}/stategraphConfig.cmake"
                              INSTALL_DESTINATION "${_package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change anything.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/stategraphConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/stategraphConfig.cmake" "${PROJECT_BINARY_DIR}/stategraphConfigVersion.cmake"
        DESTINATION "${_package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
unset(_package_dir)
