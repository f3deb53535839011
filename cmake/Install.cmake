# `cmake --install`: the libraries, the headers, and a package for find_package(stategraph [COMPONENTS rocksdb sqlite
# postgres encryption]).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/stategraph")

# Each component has an export set of its own, so that the package can be used where RocksDB, SQLite, libpq or OpenSSL
# is not installed.
set(_bundled stategraph stategraph_core)
foreach(_room IN LISTS STATEGRAPH_ROOMS)
  if(STATEGRAPH_ROOM_${_room}_BUNDLED)
    list(APPEND _bundled stategraph_${_room})
  endif()
endforeach()
install(TARGETS ${_bundled} EXPORT stategraphTargets FILE_SET HEADERS FILE_SET kit)
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
  foreach(_below IN LISTS STATEGRAPH_ROOM_${_component}_USES)
    list(APPEND _all_below ${_all_below_${_below}})
    if(_below IN_LIST STATEGRAPH_COMPONENTS)
      list(APPEND _all_below ${_below})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES _all_below)
  set(_all_below_${_component} ${_all_below})
  list(JOIN _all_below " " _all_below)
  string(APPEND _facts "set(_stategraph_below_${_component} ${_all_below})\n")
  set(_needs ${STATEGRAPH_ROOM_${_component}_NEEDS})
  if(_needs)
    list(JOIN _package_${_needs}_FIND " " _find)
    string(APPEND _facts "set(_stategraph_find_${_component} ${_find})\n")
    string(APPEND _facts
      "set(_stategraph_needs_${_component} \"${_package_${_needs}_CALLED} (Debian: ${_package_${_needs}_DEBIAN})\")\n")
  endif()
endforeach()
string(STRIP "${_facts}" _facts)
list(JOIN STATEGRAPH_COMPONENTS " " _components)
list(JOIN STATEGRAPH_COMPONENTS ", " _components_text)

configure_package_config_file(cmake/stategraphConfig.cmake.in "${PROJECT_BINARY_DIR}/stategraphConfig.cmake"
                              INSTALL_DESTINATION "${_package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change anything.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/stategraphConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/stategraphConfig.cmake" "${PROJECT_BINARY_DIR}/stategraphConfigVersion.cmake"
        cmake/Findre2.cmake DESTINATION "${_package_dir}")

# For those who build with pkg-config: stategraph, and stategraph-NAME for each component. Static libraries name what
# they need to be linked with (Libs), shared ones have it in them (Libs.private).
file(RELATIVE_PATH _pc_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
set(_pc_libdir "${CMAKE_INSTALL_LIBDIR}")
set(_pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
get_target_property(_pc_boost Boost::headers INTERFACE_INCLUDE_DIRECTORIES)
set(_pc_boost_flags "")
if(_pc_boost AND NOT _pc_boost STREQUAL "/usr/include")
  set(_pc_boost_flags " -I${_pc_boost}") # one that no compiler finds by itself
endif()
get_target_property(_pc_boost_json Boost::json LOCATION)
cmake_path(GET _pc_boost_json PARENT_PATH _pc_boost_lib)
set(_pc_boost_libs "-lboost_json")
if(_pc_boost_flags)
  set(_pc_boost_libs "-L${_pc_boost_lib} -lboost_json")
endif()
# stategraph_pc(FILE DESCRIPTION REQUIRES LIBS OTHER_LIBS OTHER_PACKAGES)
function(stategraph_pc name description requires libs other_libs other_packages)
  set(_pc_name ${name})
  set(_pc_description "${description}")
  set(_pc_private_libs "")
  set(_pc_private_requires "")
  if(BUILD_SHARED_LIBS)
    set(_pc_private_libs "${other_libs}")
    set(_pc_private_requires "${other_packages}")
  else()
    string(APPEND libs " ${other_libs}")
    string(APPEND requires " ${other_packages}")
  endif()
  string(STRIP "${libs}" _pc_libs)
  string(STRIP "${requires}" _pc_requires)
  configure_file(cmake/stategraph.pc.in "${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
stategraph_pc(stategraph "Checkpointed state graphs: the engine, JSON states, coroutines" ""
              "-lstategraph_json -lstategraph_async -lstategraph_core" "${_pc_boost_libs} -pthread" "")
foreach(_component IN LISTS STATEGRAPH_COMPONENTS)
  if(NOT TARGET stategraph_${_component})
    continue()
  endif()
  set(_pc_below "")
  foreach(_below IN LISTS STATEGRAPH_ROOM_${_component}_USES)
    if(_below IN_LIST STATEGRAPH_COMPONENTS)
      list(APPEND _pc_below stategraph-${_below})
    endif()
  endforeach()
  list(APPEND _pc_below stategraph)
  list(JOIN _pc_below " " _pc_below)
  set(_needs ${STATEGRAPH_ROOM_${_component}_NEEDS})
  set(_pc_packages "")
  set(_pc_others "")
  if(_needs)
    list(JOIN _package_${_needs}_PKG_CONFIG " " _pc_packages)
    set(_pc_others "${_package_${_needs}_LIBS}")
  endif()
  stategraph_pc(stategraph-${_component} "stategraph's component ${_component}" "${_pc_below}"
    "-lstategraph_${_component}" "${_pc_others}"
                "${_pc_packages}")
endforeach()

# The documents with the links between them, and the programs that they show. A package's recipe may export the sources
# without them.
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES README.md CHANGELOG.md CODE_OF_CONDUCT.md CONTRIBUTING.md SECURITY.md
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" OPTIONAL)
install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" OPTIONAL PATTERN node_modules EXCLUDE)
install(FILES benchmarks/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/benchmarks" OPTIONAL)

# What gdb shows the library's types with: `source` reads it. Each program has it too (src/value/ids.cpp), but gdb loads
# that only from folders that its user trusts; it trusts its own folder, which can have a script for a shared library.
install(FILES src/value/gdb_printers.py DESTINATION "${CMAKE_INSTALL_DATADIR}/stategraph")
if(BUILD_SHARED_LIBS)
  install(FILES src/value/gdb_printers.py
    DESTINATION "${CMAKE_INSTALL_DATADIR}/gdb/auto-load/${CMAKE_INSTALL_FULL_LIBDIR}"
    RENAME "libstategraph_core.so.${PROJECT_VERSION}-gdb.py")
endif()
unset(_package_dir)
