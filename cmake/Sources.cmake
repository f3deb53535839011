# Which file belongs to what: the one place that says so. A new file in these folders is picked up by the next build.
#
#   include/stategraph/**/*.hpp   public headers, installed (detail/ too); testing/saver_contract* is the savers' test kit
#   src/** checkpoint/** store/** storage/memory/**   stategraph::core: the engine's floors, its log, and what is kept in memory
#   json/ async/                  stategraph::json and stategraph::async; with the core they are stategraph::stategraph
#   storage/rocksdb/              stategraph::rocksdb: saver, store and cache; storage/encrypted/: stategraph::encryption
#   workflow/ workflow/from_json/ schema/ model/ model/http/ agent/ serve/   stategraph::workflow, workflow_json, schema, model,
#                                 model_http, agent, serve, with include/stategraph/NAME/ and the headers that are listed below
#   tests/**/*_test.cpp           stategraph-tests, with tests/support/*.cpp and tests/main.cpp
#   tests/model/aimock/aimock.cpp stategraph-aimock, which tests/model/aimock/run.sh runs and the suite does not
#   tests/conformance/*.cpp       stategraph-conformance
#   tests/workflow_conformance/*.cpp  stategraph-workflow-conformance
#   tests/fault/kill/*.cpp        stategraph-kill (main.cpp and the rest) and stategraph-kill-child (child.cpp)
#   tests/process/*.cpp           one program each, which must exit with 0
#   tests/golden/make_golden.cpp  stategraph-make-golden, which the suite does not run
#   tests/fuzz/*_target.cpp       what is fuzzed: stategraph-tests, and with tests/fuzz/fuzz_*.cpp the fuzzers (cmake/Fuzz.cmake)
#   tests/pages/*.mjs             the advisor's page in a browser, and the AI SDK as a client: tests/pages/run.sh
#   tests/compile_fail/*.cpp      must not compile (ok_*.cpp: must)
#   examples/*.cpp                one program each; the output it must print is examples/expected/*.txt
#   examples/NAME/*.cpp           one program, if there is a main.cpp; likewise
#   benchmarks/workloads/NAME/*.cpp  bench_NAME, a Google Benchmark program, with benchmarks/support/*.cpp
#   benchmarks/report/*.cpp       stategraph-bench-report, which benchmarks/run.sh runs on what they print

# The public headers of the products that stand beside the core's; all others are found by their folder.
set(STATEGRAPH_JSON_HEADERS json json_schema ndjson partial partial_display partial_json)
set(STATEGRAPH_ASYNC_HEADERS asio async stream_hub task detail/asio detail/async)
set(STATEGRAPH_ROCKSDB_HEADERS rocksdb_cache rocksdb_saver rocksdb_store)
set(STATEGRAPH_ENCRYPTION_HEADERS encrypted_saver encrypted_store)
set(STATEGRAPH_SCHEMA_HEADERS schema)
set(STATEGRAPH_WORKFLOW_JSON_HEADERS workflow/from_json)
set(STATEGRAPH_MODEL_HTTP_HEADERS model/openai model/anthropic model/http_options)

set(_include "${PROJECT_SOURCE_DIR}/include/stategraph")
file(GLOB STATEGRAPH_CORE_HEADERS CONFIGURE_DEPENDS "${_include}/*.hpp" "${_include}/detail/*.hpp" "${_include}/testing/*.hpp")
# They need doctest, which a build without tests does without; the tests include each of them.
file(GLOB STATEGRAPH_KIT_HEADERS CONFIGURE_DEPENDS "${_include}/testing/saver_contract/*.hpp")
list(APPEND STATEGRAPH_KIT_HEADERS "${_include}/testing/saver_contract.hpp")
list(REMOVE_ITEM STATEGRAPH_CORE_HEADERS ${STATEGRAPH_KIT_HEADERS})
foreach(_product IN ITEMS WORKFLOW MODEL AGENT SERVE)
  string(TOLOWER ${_product} _folder)
  file(GLOB STATEGRAPH_${_product}_HEADERS CONFIGURE_DEPENDS "${_include}/${_folder}/*.hpp")
endforeach()
foreach(_product IN ITEMS JSON ASYNC ROCKSDB ENCRYPTION SCHEMA WORKFLOW_JSON MODEL_HTTP)
  list(TRANSFORM STATEGRAPH_${_product}_HEADERS PREPEND "${_include}/")
  list(TRANSFORM STATEGRAPH_${_product}_HEADERS APPEND ".hpp")
  foreach(_others IN ITEMS CORE WORKFLOW MODEL)
    list(REMOVE_ITEM STATEGRAPH_${_others}_HEADERS ${STATEGRAPH_${_product}_HEADERS})
  endforeach()
endforeach()

# A folder is a product, or a floor of the core.
file(GLOB_RECURSE STATEGRAPH_CORE_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp" "${PROJECT_SOURCE_DIR}/checkpoint/*.cpp"
     "${PROJECT_SOURCE_DIR}/store/*.cpp" "${PROJECT_SOURCE_DIR}/storage/memory/*.cpp")
foreach(_pair IN ITEMS JSON:json ASYNC:async ROCKSDB:storage/rocksdb ENCRYPTION:storage/encrypted SCHEMA:schema WORKFLOW:workflow
                       WORKFLOW_JSON:workflow/from_json MODEL:model MODEL_HTTP:model/http AGENT:agent SERVE:serve)
  string(REPLACE ":" ";" _pair ${_pair})
  list(GET _pair 0 _product)
  list(GET _pair 1 _folder)
  file(GLOB STATEGRAPH_${_product}_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${_folder}/*.cpp")
endforeach()

if(STATEGRAPH_BUILD_TESTS)
  file(GLOB_RECURSE STATEGRAPH_TEST_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*_test.cpp")
  list(FILTER STATEGRAPH_TEST_SOURCES EXCLUDE REGEX "/tests/(conformance|workflow_conformance|compile_fail|consumer|support)/")
  if(STATEGRAPH_TEST_FOLDERS)
    list(FILTER STATEGRAPH_TEST_SOURCES INCLUDE REGEX "/tests/(${STATEGRAPH_TEST_FOLDERS})/")
  endif()
  if(NOT STATEGRAPH_WITH_ROCKSDB)
    list(FILTER STATEGRAPH_TEST_SOURCES EXCLUDE REGEX "/rocksdb[^/]*_test\\.cpp$")
  endif()
  if(NOT STATEGRAPH_WITH_ENCRYPTION)
    list(FILTER STATEGRAPH_TEST_SOURCES EXCLUDE REGEX "/encrypted[^/]*_test\\.cpp$")
  endif()
  if(NOT STATEGRAPH_WITH_WORKFLOW_JSON)
    list(FILTER STATEGRAPH_TEST_SOURCES EXCLUDE REGEX "/from_json_test\\.cpp$")
  endif()
  if(NOT STATEGRAPH_WITH_SCHEMA)
    list(FILTER STATEGRAPH_TEST_SOURCES EXCLUDE REGEX "/(tests/schema/[^/]*|foreign_schema)_test\\.cpp$")
  endif()
  file(GLOB_RECURSE STATEGRAPH_TEST_SUPPORT CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")
  if(NOT STATEGRAPH_WITH_SERVE)
    list(FILTER STATEGRAPH_TEST_SOURCES EXCLUDE REGEX "/tests/serve/")
  endif()
  if(NOT STATEGRAPH_WITH_MODEL_HTTP)
    list(FILTER STATEGRAPH_TEST_SOURCES EXCLUDE REGEX "/tests/model/http/")
    list(FILTER STATEGRAPH_TEST_SUPPORT EXCLUDE REGEX "/(scripted_server|self_signed)\\.cpp$")
  endif()
  file(GLOB STATEGRAPH_CONFORMANCE_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/conformance/*.cpp")
  # The fuzzers' targets run in stategraph-tests too, and one of them is the conformance interpreter.
  file(GLOB STATEGRAPH_FUZZ_TARGETS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_target.cpp")
  list(APPEND STATEGRAPH_FUZZ_TARGETS ${STATEGRAPH_CONFORMANCE_SOURCES})
  list(FILTER STATEGRAPH_FUZZ_TARGETS EXCLUDE REGEX "/conformance/(main|savers)\\.cpp$")
  file(GLOB STATEGRAPH_CONFORMANCE_SCENARIOS CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/tests/conformance/scenarios/*.json" "${PROJECT_SOURCE_DIR}/tests/conformance/scenarios/*.ndjson"
       "${PROJECT_SOURCE_DIR}/tests/conformance/*.ndjson")
  file(GLOB STATEGRAPH_WORKFLOW_CONFORMANCE_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/workflow_conformance/*.cpp")
  list(APPEND STATEGRAPH_WORKFLOW_CONFORMANCE_SOURCES "${PROJECT_SOURCE_DIR}/tests/conformance/scenario.cpp")
  file(GLOB STATEGRAPH_WORKFLOW_SCENARIOS CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/tests/workflow_conformance/scenarios/*.json" "${PROJECT_SOURCE_DIR}/tests/workflow_conformance/wanted/*.json"
       "${PROJECT_SOURCE_DIR}/tests/workflow_conformance/*.ndjson")
  file(GLOB STATEGRAPH_KILL_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fault/kill/*.cpp")
  file(GLOB STATEGRAPH_PROCESS_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/process/*.cpp")
  if(STATEGRAPH_TEST_FOLDERS AND NOT "process" MATCHES "^(${STATEGRAPH_TEST_FOLDERS})$")
    set(STATEGRAPH_PROCESS_SOURCES "")
  endif()
  file(GLOB STATEGRAPH_COMPILE_FAIL_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/compile_fail/*.cpp")
endif()
if(STATEGRAPH_BUILD_EXAMPLES)
  file(GLOB STATEGRAPH_EXAMPLE_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cpp")
  file(GLOB STATEGRAPH_EXAMPLE_MAINS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*/main.cpp")
endif()
if(STATEGRAPH_BUILD_BENCHMARKS)
  file(GLOB_RECURSE STATEGRAPH_WORKLOAD_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/benchmarks/workloads/*.cpp")
  file(GLOB STATEGRAPH_BENCHMARK_SUPPORT CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/benchmarks/support/*.cpp")
  file(GLOB STATEGRAPH_BENCHMARK_REPORT CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/benchmarks/report/*.cpp")
endif()

# A file that needs RocksDB or OpenSSL says so by what it includes.
function(stategraph_uses_rocksdb out file)
  stategraph_includes(found "${file}" "stategraph/rocksdb_(saver|store|cache)\\.hpp|rocksdb/")
  set(${out} ${found} PARENT_SCOPE)
endfunction()
function(stategraph_uses_encryption out file)
  stategraph_includes(found "${file}" "stategraph/encrypted_(saver|store)\\.hpp|openssl/")
  set(${out} ${found} PARENT_SCOPE)
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
