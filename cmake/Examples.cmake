# Each examples/X.cpp, and each folder examples/X with a main.cpp, is a program example_X and a test example.X: it
# runs in an empty folder and must print what examples/expected/X.txt says (tests/session.sh has the rules).
# Those of examples/tutorials, how_to and pages are example_tutorials_X and example.tutorials.X, with
# expected/tutorials/X.txt or with a session, expected/tutorials/X.session.txt.
file(GLOB _examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cpp")
file(GLOB _taught CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/tutorials/*.cpp"
  "${PROJECT_SOURCE_DIR}/examples/how_to/*.cpp" "${PROJECT_SOURCE_DIR}/examples/pages/*.cpp")
file(GLOB _mains CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*/main.cpp")
# LMDB, of the example of a saver of one's own. Nothing else needs it.
find_path(LMDB_INCLUDE_DIR lmdb.h DOC "The folder of lmdb.h")
find_library(LMDB_LIBRARY lmdb DOC "LMDB's library")
mark_as_advanced(LMDB_INCLUDE_DIR LMDB_LIBRARY)
function(stategraph_example name)
  set(libraries stategraph::stategraph stategraph_warnings)
  set(asio OFF)
  set(precompiled ${STATEGRAPH_PRECOMPILED})
  foreach(file IN LISTS ARGN)
    stategraph_products_of(products are_built "${file}")
    stategraph_includes(uses_doctest "${file}" "doctest/doctest\\.h")
    if(NOT are_built OR (uses_doctest AND NOT STATEGRAPH_BUILD_TESTS))
      return()
    endif()
    stategraph_includes(uses_lmdb "${file}" "lmdb\\.h")
    if(uses_lmdb AND (NOT LMDB_INCLUDE_DIR OR NOT LMDB_LIBRARY))
      message(STATUS "LMDB was not found: example_${name} is left out (Debian: apt-get install liblmdb-dev)")
      return()
    endif()
    if(uses_lmdb)
      list(APPEND libraries "${LMDB_LIBRARY}")
    endif()
    list(TRANSFORM products PREPEND stategraph::)
    list(APPEND libraries ${products})
    file(STRINGS "${file}" _asio REGEX "asio\\.hpp>|boost/asio/" LIMIT_COUNT 1)
    if(_asio)
      set(asio ON)
    endif()
    # A precompiled header includes nothing that the file does not include itself.
    file(STRINGS "${file}" _whole REGEX "^#include <stategraph/stategraph\\.hpp>" LIMIT_COUNT 1)
    if(NOT _whole)
      set(precompiled OFF)
    endif()
  endforeach()
  add_executable(example_${name} ${ARGN})
  set(needs_server OFF)
  if("stategraph::postgres" IN_LIST libraries
     OR "stategraph::queue" IN_LIST libraries
     OR "stategraph::worker" IN_LIST libraries)
    set(needs_server ON)
  endif()
  set_target_properties(example_${name} PROPERTIES CXX_EXTENSIONS OFF RUNTIME_OUTPUT_DIRECTORY
                                                                     "${PROJECT_BINARY_DIR}/examples")
  list(LENGTH ARGN count)
  if(count GREATER 1)
    stategraph_together(example_${name})
  endif()
  if(precompiled AND NOT asio)
    if(NOT TARGET stategraph_example_headers)
      add_library(stategraph_example_headers OBJECT "${PROJECT_BINARY_DIR}/empty.cpp")
      set_target_properties(stategraph_example_headers PROPERTIES CXX_EXTENSIONS OFF)
      target_link_libraries(stategraph_example_headers PRIVATE stategraph::stategraph stategraph_warnings)
      target_precompile_headers(stategraph_example_headers PRIVATE <stategraph/stategraph.hpp>)
    endif()
    target_precompile_headers(example_${name} REUSE_FROM stategraph_example_headers)
  endif()
  # As the tests that use Boost.Asio (cmake/Tests.cmake).
  if(asio AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
    target_compile_definitions(example_${name} PRIVATE BOOST_ASIO_DISABLE_FENCED_BLOCK)
    target_compile_options(
      example_${name} PRIVATE "SHELL:-include ${PROJECT_SOURCE_DIR}/tests/support/asio_for_tsan.hpp")
  endif()
  if(LMDB_LIBRARY IN_LIST libraries)
    target_include_directories(example_${name} SYSTEM PRIVATE "${LMDB_INCLUDE_DIR}")
  endif()
  # Only what a user's program would link.
  list(REMOVE_DUPLICATES libraries)
  target_link_libraries(example_${name} PRIVATE ${libraries})
  if(STATEGRAPH_BUILD_TESTS)
    string(REGEX REPLACE "^(tutorials|how_to|pages)_" "\\1/" path "${name}") # below examples/
    string(REPLACE "/" "." test "example.${path}")
    set(expected "${PROJECT_SOURCE_DIR}/examples/expected/${path}.txt")
    set(tool "")
    if(NOT EXISTS "${expected}")
      string(REPLACE ".txt" ".session.txt" expected "${expected}")
      if(TARGET stategraph_command)
        set(tool $<TARGET_FILE:stategraph_command>)
      endif()
    endif()
    add_test(NAME ${test} COMMAND "${PROJECT_SOURCE_DIR}/tests/session.sh" "${PROJECT_BINARY_DIR}/examples/run/${path}"
      $<TARGET_FILE:example_${name}> "${expected}" ${tool})
    set_tests_properties(${test} PROPERTIES TIMEOUT ${STATEGRAPH_TEST_SECONDS})
    if(needs_server)
      if(STATEGRAPH_TEST_POSTGRES)
        set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED postgres
          ENVIRONMENT "DATABASE_URL=${STATEGRAPH_TEST_POSTGRES}")
      else()
        set_tests_properties(${test} PROPERTIES DISABLED ON)
      endif()
    endif()
  endif()
endfunction()

foreach(file IN LISTS _examples)
  cmake_path(GET file STEM name)
  stategraph_example(${name} "${file}")
endforeach()
foreach(file IN LISTS _taught)
  cmake_path(GET file STEM name)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET folder FILENAME folder)
  stategraph_example(${folder}_${name} "${file}")
endforeach()
foreach(main IN LISTS _mains)
  cmake_path(GET main PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp" "${folder}/*.hpp")
  stategraph_example(${name} ${sources})
endforeach()
if(TARGET example_mcp_tools AND TARGET stategraph-mcp-server)
  add_dependencies(example_mcp_tools stategraph-mcp-server)
  set_tests_properties(example.mcp_tools PROPERTIES ENVIRONMENT "MCP_SERVER=$<TARGET_FILE:stategraph-mcp-server>")
endif()
if(TARGET example_langgraph_server)
  set_source_files_properties(
    "${PROJECT_SOURCE_DIR}/examples/langgraph_server/main.cpp" PROPERTIES COMPILE_DEFINITIONS
    "LANGGRAPH_SERVER_PAGE=\"${PROJECT_SOURCE_DIR}/examples/langgraph_server/page/dist/index.html\"")
endif()
if(TARGET example_advisor)
  # With it the environment may name a real model (examples/advisor/real_model.hpp).
  if(STATEGRAPH_WITH_MODEL_HTTP)
    target_compile_definitions(example_advisor PRIVATE ADVISOR_HAS_MODEL_HTTP)
    target_link_libraries(example_advisor PRIVATE stategraph::model_http)
  endif()
  set_source_files_properties(
    "${PROJECT_SOURCE_DIR}/examples/advisor/main.cpp"
    PROPERTIES COMPILE_DEFINITIONS "ADVISOR_PAGE=\"${PROJECT_SOURCE_DIR}/examples/advisor/page\"")
endif()
# A browser, the AI SDK and LangGraph's as clients: where Chromium is, and the npm packages are in build/pages, which
# scripts/test.sh and tests/pages/run.sh install.
find_program(STATEGRAPH_CHROMIUM NAMES chromium chromium-browser DOC "The browser of the tests of pages")
mark_as_advanced(STATEGRAPH_CHROMIUM)
execute_process(COMMAND "${PROJECT_SOURCE_DIR}/tests/pages/node.sh" 22 "${PROJECT_SOURCE_DIR}/build/pages"
  RESULT_VARIABLE _has_no_node
                OUTPUT_QUIET ERROR_QUIET)
if(STATEGRAPH_BUILD_TESTS AND STATEGRAPH_TEST_PAGES AND STATEGRAPH_CHROMIUM AND _has_no_node EQUAL 0
  AND EXISTS "${PROJECT_SOURCE_DIR}/build/pages/node_modules/playwright-core")
  set(_tests "")
  if(TARGET example_advisor)
    list(APPEND _tests pages.advisor)
    add_test(NAME pages.advisor COMMAND "${PROJECT_SOURCE_DIR}/tests/pages/run.sh" $<TARGET_FILE:example_advisor>
                                "${PROJECT_SOURCE_DIR}/build/pages" --offline)
  endif()
  if(TARGET example_langgraph_server)
    list(APPEND _tests pages.langgraph_server)
    add_test(
      NAME pages.langgraph_server
      COMMAND
        "${PROJECT_SOURCE_DIR}/tests/pages/client.sh" "${PROJECT_SOURCE_DIR}/build/pages"
        langgraph_server_test.mjs $<TARGET_FILE:example_langgraph_server> "${STATEGRAPH_CHROMIUM}")
  endif()
  if(_tests)
    set_tests_properties(${_tests} PROPERTIES TIMEOUT ${STATEGRAPH_TEST_SECONDS} SKIP_RETURN_CODE 77 LABELS pages
                                              RUN_SERIAL ON)
  endif()
endif()

# The programs that the README shows.
if(STATEGRAPH_BUILD_TESTS)
  foreach(_shown first agent)
    add_test(
      NAME readme.${_shown}
      COMMAND
        ${CMAKE_COMMAND} "-DREADME=${PROJECT_SOURCE_DIR}/README.md"
        "-DPROGRAM=${PROJECT_SOURCE_DIR}/examples/${_shown}.cpp" "-DLINES_MAX=40"
        "-DEXPECTED=${PROJECT_SOURCE_DIR}/examples/expected/${_shown}.txt" -P
        "${PROJECT_SOURCE_DIR}/cmake/CheckReadme.cmake")
  endforeach()
endif()
