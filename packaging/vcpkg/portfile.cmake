# A port for an overlay: copy packaging/vcpkg to ports/stategraph of your overlay, and set STATEGRAPH_SOURCE to a folder
# with the sources (or replace it by vcpkg_from_git with the address of the repository that you use).
if(NOT DEFINED ENV{STATEGRAPH_SOURCE})
  message(FATAL_ERROR "Set STATEGRAPH_SOURCE to the folder with stategraph's sources.")
endif()
set(SOURCE_PATH "$ENV{STATEGRAPH_SOURCE}")

vcpkg_check_features(
  OUT_FEATURE_OPTIONS options
  FEATURES
    rocksdb STATEGRAPH_WITH_ROCKSDB
    sqlite STATEGRAPH_WITH_SQLITE
    postgres STATEGRAPH_WITH_POSTGRES
    encryption STATEGRAPH_WITH_ENCRYPTION
    model-http STATEGRAPH_WITH_MODEL_HTTP
    schema STATEGRAPH_WITH_SCHEMA)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DSTATEGRAPH_BUILD_TESTS=OFF -DSTATEGRAPH_BUILD_EXAMPLES=OFF -DSTATEGRAPH_BUILD_BENCHMARKS=OFF
          ${options})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/stategraph)
vcpkg_fixup_pkgconfig()
if("rocksdb" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES stategraph AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
     "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
