# Which file belongs to what: the one place that says so. A new file in these folders is picked up by the next build.
#
#   include/stategraph/**/*.hpp   public headers, installed (detail/ too); testing/saver_contract* is the savers' test kit
#   src/**/*.cpp checkpoint/**/*.cpp store/*.cpp   the library;  rocksdb*.cpp is stategraph::rocksdb, checkpoint/encrypted*.cpp
#                                 stategraph::encryption
#   workflow/*.cpp                stategraph::workflow, with include/stategraph/workflow/*.hpp
#   workflow/from_json/*.cpp      stategraph::workflow_json, with include/stategraph/workflow/from_json.hpp
#   schema/*.cpp                  stategraph::schema, with include/stategraph/schema.hpp
#   model/*.cpp                   stategraph::model, with include/stategraph/model/*.hpp; model/http/*.cpp: stategraph::model_http, with
#                                 include/stategraph/model/{openai,anthropic,http_options}.hpp
#   agent/*.cpp                   stategraph::agent, with include/stategraph/agent/*.hpp
#   serve/*.cpp                   stategraph::serve, with include/stategraph/serve/*.hpp
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

file(GLOB_RECURSE STATEGRAPH_HEADERS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/stategraph/*.hpp")
# stategraph_move(TO FROM REGEX): what fits is taken out of the list FROM, and is the list TO.
macro(stategraph_move to from regex)
  set(${to} ${${from}})
  list(FILTER ${to} INCLUDE REGEX "${regex}")
  list(FILTER ${from} EXCLUDE REGEX "${regex}")
endmacro()
stategraph_move(STATEGRAPH_ROCKSDB_HEADERS STATEGRAPH_HEADERS "/rocksdb_(saver|store|cache)[.]hpp$")
# They need doctest, which a build without tests does without; the tests include each of them.
stategraph_move(STATEGRAPH_KIT_HEADERS STATEGRAPH_HEADERS "/testing/saver_contract")
stategraph_move(STATEGRAPH_ENCRYPTION_HEADERS STATEGRAPH_HEADERS "/encrypted_(saver|store)[.]hpp$")
stategraph_move(STATEGRAPH_SCHEMA_HEADERS STATEGRAPH_HEADERS "/include/stategraph/schema[.]hpp$")
stategraph_move(STATEGRAPH_WORKFLOW_HEADERS STATEGRAPH_HEADERS "/include/stategraph/workflow/")
stategraph_move(STATEGRAPH_WORKFLOW_JSON_HEADERS STATEGRAPH_WORKFLOW_HEADERS "/from_json[.]hpp$")
stategraph_move(STATEGRAPH_MODEL_HEADERS STATEGRAPH_HEADERS "/include/stategraph/model/")
stategraph_move(STATEGRAPH_MODEL_HTTP_HEADERS STATEGRAPH_MODEL_HEADERS "/(openai|anthropic|http_options)[.]hpp$")
stategraph_move(STATEGRAPH_AGENT_HEADERS STATEGRAPH_HEADERS "/include/stategraph/agent/")
stategraph_move(STATEGRAPH_SERVE_HEADERS STATEGRAPH_HEADERS "/include/stategraph/serve/")

file(GLOB_RECURSE STATEGRAPH_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp"
     "${PROJECT_SOURCE_DIR}/checkpoint/*.cpp" "${PROJECT_SOURCE_DIR}/store/*.cpp")
stategraph_move(STATEGRAPH_ROCKSDB_SOURCES STATEGRAPH_SOURCES "/(checkpoint|store)/rocksdb[^/]*[.]cpp$")
stategraph_move(STATEGRAPH_ENCRYPTION_SOURCES STATEGRAPH_SOURCES "/checkpoint/encrypted[^/]*[.]cpp$")

file(GLOB STATEGRAPH_WORKFLOW_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/workflow/*.cpp")
file(GLOB STATEGRAPH_WORKFLOW_JSON_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/workflow/from_json/*.cpp")
file(GLOB STATEGRAPH_SCHEMA_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/schema/*.cpp")
file(GLOB STATEGRAPH_MODEL_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/model/*.cpp")
file(GLOB STATEGRAPH_MODEL_HTTP_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/model/http/*.cpp")
file(GLOB STATEGRAPH_AGENT_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/agent/*.cpp")
file(GLOB STATEGRAPH_SERVE_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/serve/*.cpp")

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
