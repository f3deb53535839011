# Each examples/X.cpp is a program example_X and a test example.X: it runs in an empty folder and must print what
# examples/expected/X.txt says (cmake/RunExample.cmake has the rules).
foreach(file IN LISTS STATEGRAPH_EXAMPLE_SOURCES)
  stategraph_uses_rocksdb(uses_rocksdb "${file}")
  if(uses_rocksdb AND NOT STATEGRAPH_WITH_ROCKSDB)
    continue()
  endif()
  stategraph_uses_encryption(uses_encryption "${file}")
  if(uses_encryption AND NOT STATEGRAPH_WITH_ENCRYPTION)
    continue()
  endif()
  file(STRINGS "${file}" _from_json REGEX "stategraph/workflow/from_json")
  if(_from_json AND NOT STATEGRAPH_WITH_WORKFLOW_JSON)
    continue()
  endif()
  cmake_path(GET file STEM name)
  add_executable(example_${name} "${file}")
  set_target_properties(example_${name} PROPERTIES CXX_EXTENSIONS OFF RUNTIME_OUTPUT_DIRECTORY
                                                                     "${PROJECT_BINARY_DIR}/examples")
  # As the tests that use Boost.Asio (cmake/Tests.cmake).
  file(STRINGS "${file}" _asio REGEX "asio\\.hpp>")
  if(_asio AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
    target_compile_definitions(example_${name} PRIVATE BOOST_ASIO_DISABLE_FENCED_BLOCK)
    target_compile_options(example_${name} PRIVATE "SHELL:-include ${PROJECT_SOURCE_DIR}/tests/support/asio_for_tsan.hpp")
  endif()
  # Only what a user's program would link.
  target_link_libraries(example_${name} PRIVATE stategraph::stategraph stategraph_warnings)
  file(STRINGS "${file}" _workflow REGEX "stategraph/workflow/")
  if(_workflow)
    target_link_libraries(example_${name} PRIVATE stategraph::workflow)
  endif()
  if(_from_json)
    target_link_libraries(example_${name} PRIVATE stategraph::workflow_json)
  endif()
  if(uses_rocksdb)
    target_link_libraries(example_${name} PRIVATE stategraph::rocksdb)
  endif()
  if(uses_encryption)
    target_link_libraries(example_${name} PRIVATE stategraph::encryption)
  endif()
  if(STATEGRAPH_BUILD_TESTS)
    add_test(
      NAME example.${name}
      COMMAND
        ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:example_${name}>"
        "-DEXPECTED=${PROJECT_SOURCE_DIR}/examples/expected/${name}.txt"
        "-DFOLDER=${PROJECT_BINARY_DIR}/examples/run/${name}" -P "${PROJECT_SOURCE_DIR}/cmake/RunExample.cmake")
    set_tests_properties(example.${name} PROPERTIES TIMEOUT 120)
  endif()
endforeach()

if(STATEGRAPH_BUILD_TESTS)
  add_test(
    NAME readme
    COMMAND
      ${CMAKE_COMMAND} "-DREADME=${PROJECT_SOURCE_DIR}/README.md" "-DPROGRAM=${PROJECT_SOURCE_DIR}/examples/first.cpp"
      "-DEXPECTED=${PROJECT_SOURCE_DIR}/examples/expected/first.txt" -P "${PROJECT_SOURCE_DIR}/cmake/CheckReadme.cmake")
endif()
