# Which file belongs to what: the one place that says so. A new file in these folders is picked up by the next build.
#
#   include/stategraph/**/*.hpp   public headers, installed (detail/ too); testing/saver_contract* is the savers' test
#                                 kit
#   src/** checkpoint/** store/** storage/memory/**   stategraph::core: the engine's floors, its log, and what is kept
#                                                     in memory
#   json/ async/                  stategraph::json and stategraph::async; with the core they are stategraph::stategraph
#   storage/rocksdb/ storage/sqlite/ workflow/ agent/ serve/ …   one product each, with headers of its own:
#                                                                cmake/Products.cmake has a row for each
#   inspect/program/main.cpp      the program `stategraph`
#   inspect/web/dist/*            the inspector's page, made a part of stategraph::inspect by cmake/EmbedPage.cmake;
#                                 inspect/web/README.md
#   tests/**/*_test.cpp           stategraph-tests, with tests/support/*.cpp and tests/main.cpp
#   tests/mcp/server/main.cpp     stategraph-mcp-server, the scripted server of tests/mcp and examples/mcp_tools.cpp
#   tests/mcp/everything/everything.cpp  stategraph-mcp-everything, which tests/mcp/everything/run.sh runs
#   tests/model/aimock/aimock.cpp stategraph-aimock, which tests/model/aimock/run.sh runs and the suite does not
#   tests/conformance/*.cpp       stategraph-conformance
#   tests/workflow_conformance/*.cpp  stategraph-workflow-conformance
#   tests/fault/kill/*.cpp        stategraph-kill (main.cpp and the rest) and stategraph-kill-child (child.cpp)
#   tests/process/*.cpp           one program each, which must exit with 0
#   tests/golden/make_golden.cpp  stategraph-make-golden, which the suite does not run
#   tests/fuzz/*_target.cpp       what is fuzzed: stategraph-tests, and with tests/fuzz/fuzz_*.cpp the fuzzers
#                                 (cmake/Fuzz.cmake)
#   tests/pages/inspected_store.cpp  stategraph-inspected, threads for the tests of the inspector's page
#   tests/pages/*.mjs             the advisor's page in a browser, and the AI SDK as a client: tests/pages/run.sh
#   tests/compile_fail/*.cpp      must not compile (ok_*.cpp: must)
#   examples/*.cpp                one program each; the output it must print is examples/expected/*.txt
#   examples/NAME/*.cpp           one program, if there is a main.cpp; likewise
#   examples/tutorials/*.cpp examples/how_to/*.cpp examples/pages/*.cpp  one program each, which pages of docs/ show; or
#                                                                        with a session (cmake/RunSession.cmake)
#   benchmarks/workloads/NAME/*.cpp  bench_NAME, a Google Benchmark program, with benchmarks/support/*.cpp
#   benchmarks/report/*.cpp       stategraph-bench-report, which benchmarks/run.sh runs on what they print

set(_include "${PROJECT_SOURCE_DIR}/include/stategraph")
file(GLOB STATEGRAPH_CORE_HEADERS CONFIGURE_DEPENDS "${_include}/*.hpp" "${_include}/detail/*.hpp"
  "${_include}/testing/*.hpp")
# They need doctest, which a build without tests does without; the tests include each of them.
file(GLOB STATEGRAPH_KIT_HEADERS CONFIGURE_DEPENDS "${_include}/testing/saver_contract/*.hpp")
list(APPEND STATEGRAPH_KIT_HEADERS "${_include}/testing/saver_contract.hpp")
list(REMOVE_ITEM STATEGRAPH_CORE_HEADERS ${STATEGRAPH_KIT_HEADERS})
# A product's headers are those that its row names, or its folder's without those that others name.
set(_named "")
foreach(_product IN LISTS STATEGRAPH_PRODUCTS)
  if(_product_${_product}_HEADERS)
    set(_headers ${_product_${_product}_HEADERS})
    list(TRANSFORM _headers PREPEND "${_include}/")
    list(TRANSFORM _headers APPEND ".hpp")
    list(APPEND _named ${_headers})
  else()
    file(GLOB _headers CONFIGURE_DEPENDS "${_include}/${_product_${_product}_FOLDER}/*.hpp")
  endif()
  set(_headers_${_product} ${_headers})
endforeach()
list(REMOVE_ITEM STATEGRAPH_CORE_HEADERS ${_named})
foreach(_product IN LISTS STATEGRAPH_PRODUCTS)
  if(NOT _product_${_product}_HEADERS)
    list(REMOVE_ITEM _headers_${_product} ${_named})
  endif()
endforeach()

# A folder is a product, or a floor of the core.
file(GLOB_RECURSE STATEGRAPH_CORE_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp"
  "${PROJECT_SOURCE_DIR}/checkpoint/*.cpp"
     "${PROJECT_SOURCE_DIR}/store/*.cpp" "${PROJECT_SOURCE_DIR}/storage/memory/*.cpp")
foreach(_product IN LISTS STATEGRAPH_PRODUCTS)
  file(GLOB _sources_${_product} CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${_product_${_product}_FOLDER}/*.cpp")
  foreach(_room IN LISTS _product_${_product}_ROOMS)
    file(GLOB _more CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${_product_${_product}_FOLDER}/${_room}/*.cpp")
    list(APPEND _sources_${_product} ${_more})
  endforeach()
endforeach()

if(STATEGRAPH_BUILD_TESTS)
  file(GLOB_RECURSE STATEGRAPH_TEST_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*_test.cpp")
  list(FILTER
    STATEGRAPH_TEST_SOURCES EXCLUDE REGEX "/tests/(conformance|workflow_conformance|compile_fail|consumer|support)/")
  if(STATEGRAPH_TEST_FOLDERS)
    list(FILTER STATEGRAPH_TEST_SOURCES INCLUDE REGEX "/tests/(${STATEGRAPH_TEST_FOLDERS})/")
  endif()
  # A file may say "// NOT WITH: sanitize=thread", as those of tests/process: it is left out where CMAKE_CXX_FLAGS has
  # this text. ThreadSanitizer sees nothing in a test that starts no thread.
  foreach(file IN LISTS STATEGRAPH_TEST_SOURCES)
    file(STRINGS "${file}" _line LIMIT_COUNT 1 REGEX "^// NOT WITH: ")
    if(_line MATCHES "^// NOT WITH: (.*)$")
      set(_flag "${CMAKE_MATCH_1}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
      if(CMAKE_CXX_FLAGS MATCHES "${_flag}")
        list(REMOVE_ITEM STATEGRAPH_TEST_SOURCES "${file}")
      endif()
    endif()
  endforeach()
  foreach(_product IN LISTS STATEGRAPH_PRODUCTS)
    string(TOUPPER ${_product} _NAME)
    if(_product_${_product}_TESTS AND NOT STATEGRAPH_WITH_${_NAME})
      list(FILTER STATEGRAPH_TEST_SOURCES EXCLUDE REGEX "${_product_${_product}_TESTS}")
    endif()
  endforeach()
  # Tests on PostgreSQL start a server of their own: tests/storage/postgres/server.sh.
  file(GLOB _servers "/usr/lib/postgresql/*/bin")
  find_program(STATEGRAPH_POSTGRES_SERVER postgres PATHS ${_servers} DOC "PostgreSQL's server, for tests")
  mark_as_advanced(STATEGRAPH_POSTGRES_SERVER)
  if(STATEGRAPH_WITH_POSTGRES AND NOT STATEGRAPH_POSTGRES_SERVER)
    message(STATUS
      "PostgreSQL's server was not found: tests of stategraph::postgres are left out (Debian: apt-get install postgresql-15)")
    list(FILTER STATEGRAPH_TEST_SOURCES EXCLUDE REGEX "${_product_postgres_TESTS}")
  endif()
  file(GLOB_RECURSE STATEGRAPH_TEST_SUPPORT CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")
  if(NOT STATEGRAPH_WITH_MODEL_HTTP)
    list(FILTER STATEGRAPH_TEST_SUPPORT EXCLUDE REGEX "/(scripted_server|self_signed)\\.cpp$")
  endif()
  file(GLOB STATEGRAPH_CONFORMANCE_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/conformance/*.cpp")
  # The fuzzers' targets run in stategraph-tests too, and one of them is the conformance interpreter.
  file(GLOB STATEGRAPH_FUZZ_TARGETS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_target.cpp")
  list(APPEND STATEGRAPH_FUZZ_TARGETS ${STATEGRAPH_CONFORMANCE_SOURCES})
  list(FILTER STATEGRAPH_FUZZ_TARGETS EXCLUDE REGEX "/conformance/(main|savers)\\.cpp$")
  file(GLOB STATEGRAPH_CONFORMANCE_SCENARIOS CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/tests/conformance/scenarios/*.json"
       "${PROJECT_SOURCE_DIR}/tests/conformance/scenarios/*.ndjson"
       "${PROJECT_SOURCE_DIR}/tests/conformance/*.ndjson")
  file(GLOB
    STATEGRAPH_WORKFLOW_CONFORMANCE_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/workflow_conformance/*.cpp")
  list(APPEND STATEGRAPH_WORKFLOW_CONFORMANCE_SOURCES "${PROJECT_SOURCE_DIR}/tests/conformance/scenario.cpp")
  file(GLOB STATEGRAPH_WORKFLOW_SCENARIOS CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/tests/workflow_conformance/scenarios/*.json"
       "${PROJECT_SOURCE_DIR}/tests/workflow_conformance/wanted/*.json"
       "${PROJECT_SOURCE_DIR}/tests/workflow_conformance/*.ndjson")
  if(STATEGRAPH_TEST_FOLDERS AND NOT "workflow" MATCHES "^(${STATEGRAPH_TEST_FOLDERS})$")
    set(STATEGRAPH_WORKFLOW_CONFORMANCE_SOURCES "")
  endif()
  file(GLOB STATEGRAPH_KILL_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fault/kill/*.cpp")
  file(GLOB STATEGRAPH_PROCESS_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/process/*.cpp")
  if(STATEGRAPH_TEST_FOLDERS AND NOT "process" MATCHES "^(${STATEGRAPH_TEST_FOLDERS})$")
    set(STATEGRAPH_PROCESS_SOURCES "")
  endif()
  file(GLOB STATEGRAPH_COMPILE_FAIL_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/compile_fail/*.cpp")
endif()
if(STATEGRAPH_BUILD_EXAMPLES)
  file(GLOB STATEGRAPH_EXAMPLE_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cpp")
  file(GLOB STATEGRAPH_TAUGHT_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/tutorials/*.cpp"
       "${PROJECT_SOURCE_DIR}/examples/how_to/*.cpp" "${PROJECT_SOURCE_DIR}/examples/pages/*.cpp")
  file(GLOB STATEGRAPH_EXAMPLE_MAINS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*/main.cpp")
endif()
if(STATEGRAPH_BUILD_BENCHMARKS)
  file(GLOB_RECURSE STATEGRAPH_WORKLOAD_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/benchmarks/workloads/*.cpp")
  file(GLOB STATEGRAPH_BENCHMARK_SUPPORT CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/benchmarks/support/*.cpp")
  file(GLOB STATEGRAPH_BENCHMARK_REPORT CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/benchmarks/report/*.cpp")
endif()

# The products whose public headers a file includes, and whether all of them are built.
function(stategraph_products_of out are_built file)
  file(STRINGS "${file}" lines REGEX "^ *#include <stategraph/")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  set(found "")
  set(built ON)
  foreach(product IN LISTS STATEGRAPH_COMPONENTS)
    foreach(header IN LISTS _headers_${product})
      cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/include")
      if("#include <${header}>" IN_LIST lines)
        list(APPEND found ${product})
        string(TOUPPER ${product} NAME)
        if(NOT STATEGRAPH_WITH_${NAME})
          set(built OFF)
        endif()
        break()
      endif()
    endforeach()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
  set(${are_built} ${built} PARENT_SCOPE)
endfunction()

function(stategraph_includes out file headers)
  file(STRINGS "${file}" lines REGEX "^ *#include [<\"](${headers})" LIMIT_COUNT 1)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  if(lines)
    set(${out} ON PARENT_SCOPE)
  else()
    set(${out} OFF PARENT_SCOPE)
  endif()
endfunction()
