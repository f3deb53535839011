find_package(doctest QUIET)
if(NOT doctest_FOUND)
  message(FATAL_ERROR "The tests need doctest, and it was not found. On Debian: apt-get install doctest-dev. "
                      "Without tests: -DSTATEGRAPH_BUILD_TESTS=OFF.")
endif()

# ----------------------------------------------------------------------------------------------- stategraph-tests
# One program. CTest gets one entry per source file and not one per case (doctest_discover_tests): names of cases are
# sentences, whose commas and brackets that script mangles; hundreds of processes under a sanitizer cost more than the
# cases in them; and a file is what somebody works on: `ctest -R history/replay`.
set(_test_seconds 900)

# The ways to drive a run, which several programs of tests go through; Boost.Asio makes it slow to compile.
set(STATEGRAPH_DRIVERS "${PROJECT_SOURCE_DIR}/tests/support/drivers.cpp")
list(REMOVE_ITEM STATEGRAPH_TEST_SUPPORT "${STATEGRAPH_DRIVERS}")
add_library(stategraph-drivers OBJECT "${STATEGRAPH_DRIVERS}")
stategraph_own(stategraph-drivers)
target_compile_options(stategraph-drivers PRIVATE ${STATEGRAPH_TEST_OPTIONS})
target_link_libraries(stategraph-drivers PUBLIC stategraph)

# What interprets the scenarios of tests/conformance, and what is fuzzed: parts of several programs, compiled once.
add_library(stategraph-interpreter OBJECT ${STATEGRAPH_FUZZ_TARGETS})
stategraph_own(stategraph-interpreter)
stategraph_program(stategraph-interpreter)
set_source_files_properties(tests/fuzz/record_target.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON) # names of another's
target_compile_options(stategraph-interpreter PRIVATE ${STATEGRAPH_TEST_OPTIONS})
target_link_libraries(stategraph-interpreter PUBLIC stategraph Boost::json PRIVATE stategraph_xxhash)

add_executable(stategraph-tests tests/main.cpp ${STATEGRAPH_TEST_SUPPORT})
stategraph_own(stategraph-tests)
target_compile_definitions(
  stategraph-tests PRIVATE STATEGRAPH_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests" # golden files and other data
                           STATEGRAPH_HAS_ROCKSDB=$<BOOL:${STATEGRAPH_WITH_ROCKSDB}>
                           STATEGRAPH_HAS_SQLITE=$<BOOL:${STATEGRAPH_WITH_SQLITE}>
                           STATEGRAPH_HAS_POSTGRES=$<BOOL:${STATEGRAPH_WITH_POSTGRES}>
                           STATEGRAPH_HAS_ENCRYPTION=$<BOOL:${STATEGRAPH_WITH_ENCRYPTION}>)
# The optimiser spends most of a build on the tests' own code.
target_compile_options(stategraph-tests PRIVATE ${STATEGRAPH_TEST_OPTIONS})
# So that Boost.Asio can be in builds with ThreadSanitizer. What is included ahead of them hides precompiled headers.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
  target_compile_definitions(stategraph-drivers PUBLIC BOOST_ASIO_DISABLE_FENCED_BLOCK)
  foreach(file IN LISTS STATEGRAPH_DRIVERS STATEGRAPH_TEST_SOURCES STATEGRAPH_TEST_SUPPORT)
    file(STRINGS "${file}" _asio REGEX "asio\\.hpp>|boost/asio/")
    if(_asio)
      set_source_files_properties(
        "${file}" PROPERTIES COMPILE_OPTIONS "-include;${PROJECT_SOURCE_DIR}/tests/support/asio_for_tsan.hpp"
                             SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endif()
if(STATEGRAPH_TOGETHER)
  include(cmake/Together.cmake)
  # Tests have more headers and templates in common than the library's files have, and namespaces of their own.
  math(EXPR _at_once "2 * ${STATEGRAPH_TOGETHER}")
  stategraph_together(_sources ${_at_once} ${STATEGRAPH_TEST_SOURCES})
  target_sources(stategraph-tests PRIVATE ${_sources})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(stategraph-tests PRIVATE -Wno-subobject-linkage) # as the libraries
  endif()
else()
  target_sources(stategraph-tests PRIVATE ${STATEGRAPH_TEST_SOURCES})
endif()
# Tests call their types alike: CMake's own way to compile files together is not for them.
set_target_properties(stategraph-tests PROPERTIES UNITY_BUILD OFF)
# A quarter of what is left is the same few headers. ccache does not keep what is compiled with them.
option(STATEGRAPH_TEST_PRECOMPILED "Precompile the headers that most tests include" ON)
if(STATEGRAPH_TEST_PRECOMPILED AND NOT CMAKE_CXX_COMPILER_LAUNCHER MATCHES ccache)
  target_precompile_headers(stategraph-tests PRIVATE tests/support/precompiled.hpp)
  set_source_files_properties(tests/main.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON) # it includes doctest in its own way
endif()
foreach(_product IN LISTS STATEGRAPH_COMPONENTS)
  if(TARGET stategraph_${_product})
    target_link_libraries(stategraph-tests PRIVATE stategraph_${_product})
  endif()
endforeach()
target_link_libraries(stategraph-tests PRIVATE stategraph-drivers stategraph-interpreter stategraph Boost::json
  stategraph_xxhash doctest::doctest)
# What tests use of these themselves.
if(STATEGRAPH_WITH_ROCKSDB)
  target_link_libraries(stategraph-tests PRIVATE RocksDB::rocksdb-shared)
endif()
if(STATEGRAPH_WITH_SQLITE)
  target_link_libraries(stategraph-tests PRIVATE SQLite::SQLite3)
endif()
if(STATEGRAPH_WITH_POSTGRES)
  target_link_libraries(stategraph-tests PRIVATE PostgreSQL::PostgreSQL)
endif()
if(STATEGRAPH_WITH_MODEL_HTTP)
  target_link_libraries(stategraph-tests PRIVATE OpenSSL::SSL OpenSSL::Crypto)
  # tests/model/aimock/run.sh runs it against a mock of providers' servers, which npm installs.
  add_executable(stategraph-aimock EXCLUDE_FROM_ALL tests/model/aimock/aimock.cpp)
  stategraph_own(stategraph-aimock)
  target_link_libraries(stategraph-aimock PRIVATE stategraph_model_http)
endif()

# The server of tests/mcp, which they look for next to their program.
if(STATEGRAPH_WITH_MCP)
  add_executable(stategraph-mcp-server tests/mcp/server/main.cpp)
  stategraph_own(stategraph-mcp-server)
  target_compile_features(stategraph-mcp-server PRIVATE cxx_std_20)
  target_link_libraries(stategraph-mcp-server PRIVATE Boost::json)
  add_dependencies(stategraph-tests stategraph-mcp-server)
  # With the protocol's own example server, where npm has installed it into build/mcp (scripts/lib/pages.sh, or run.sh).
  add_executable(stategraph-mcp-everything tests/mcp/everything/everything.cpp)
  stategraph_own(stategraph-mcp-everything)
  target_link_libraries(stategraph-mcp-everything PRIVATE stategraph_mcp)
  if(STATEGRAPH_WITH_MCP_HTTP)
    target_compile_definitions(stategraph-mcp-everything PRIVATE STATEGRAPH_HAS_MCP_HTTP=1)
    target_link_libraries(stategraph-mcp-everything PRIVATE stategraph_mcp_http)
  endif()
  if(EXISTS "${PROJECT_SOURCE_DIR}/build/mcp/node_modules/@modelcontextprotocol/server-everything")
    add_test(NAME mcp.everything COMMAND "${PROJECT_SOURCE_DIR}/tests/mcp/everything/run.sh"
      $<TARGET_FILE:stategraph-mcp-everything> "${PROJECT_SOURCE_DIR}/build/mcp" --offline)
    set_tests_properties(mcp.everything PROPERTIES TIMEOUT 300)
  endif()
endif()

# One PostgreSQL server for all tests that need one, which ends with them, and with ctest. A socket's path is short.
if(STATEGRAPH_WITH_POSTGRES AND STATEGRAPH_POSTGRES_SERVER)
  string(SHA1 _hash "${PROJECT_BINARY_DIR}")
  string(SUBSTRING "${_hash}" 0 12 _hash)
  set(_postgres_folder "/tmp/stategraph-pg-${_hash}")
  set(_postgres_conninfo "host=${_postgres_folder} user=sg dbname=postgres")
  add_test(NAME postgres.start COMMAND "${PROJECT_SOURCE_DIR}/tests/storage/postgres/server.sh" start
    "${_postgres_folder}")
  add_test(NAME postgres.stop COMMAND "${PROJECT_SOURCE_DIR}/tests/storage/postgres/server.sh" stop
    "${_postgres_folder}")
  set_tests_properties(postgres.start PROPERTIES TIMEOUT 300 FIXTURES_SETUP postgres)
  set_tests_properties(postgres.stop PROPERTIES TIMEOUT 300 FIXTURES_CLEANUP postgres)
endif()
function(stategraph_needs_postgres test)
  set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED postgres ENVIRONMENT
    "STATEGRAPH_TEST_POSTGRES=${_postgres_conninfo}")
endfunction()

foreach(file IN LISTS STATEGRAPH_TEST_SOURCES)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/tests" OUTPUT_VARIABLE path)
  string(REGEX REPLACE "_test\\.cpp$" "" name "${path}")
  # Each runs in an empty folder of its own, so that files they leave behind do not meet.
  add_test(
    NAME ${name}
    COMMAND
      ${CMAKE_COMMAND} "-DFOLDER=${PROJECT_BINARY_DIR}/tests/run/${name}" -P
      "${PROJECT_SOURCE_DIR}/cmake/RunInEmptyFolder.cmake" -- $<TARGET_FILE:stategraph-tests> "-sf=*/tests/${path}"
      --no-intro --no-path-filenames)
  # A filter that fits nothing would pass.
  set_tests_properties(${name} PROPERTIES TIMEOUT ${_test_seconds} FAIL_REGULAR_EXPRESSION "test cases: +0 ")
  # Also those that run on every kind of store or cache.
  stategraph_includes(_on_every "${file}" "tests/(store/stores|support/caches|storage/postgres/postgres_helper)\\.hpp")
  if(name MATCHES "/postgres_" OR (_on_every AND TEST postgres.start))
    stategraph_needs_postgres(${name})
  endif()
endforeach()

# Writes a golden database, once for each version of the format (CONTRIBUTING.md).
if(STATEGRAPH_WITH_ROCKSDB)
  add_executable(stategraph-make-golden EXCLUDE_FROM_ALL tests/golden/make_golden.cpp)
  stategraph_own(stategraph-make-golden)
  target_link_libraries(stategraph-make-golden PRIVATE stategraph stategraph_rocksdb Boost::json)
endif()

# ----------------------------------------------------------------------------------------------------- conformance
# stategraph_part(OUT N OF): with a sanitizer, the option that makes a test try one part of the random scenarios, which
# differ in data alone. Tests on other kinds of stores try other parts, so that together they try all.
function(stategraph_part out number of)
  set(${out} "" PARENT_SCOPE)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    set(${out} --part ${number}/${of} PARENT_SCOPE)
  endif()
endfunction()
foreach(_number RANGE 4)
  stategraph_part(_part_${_number} ${_number} 5)
endforeach()

if(STATEGRAPH_CONFORMANCE_SOURCES)
  set(_programs_own ${STATEGRAPH_CONFORMANCE_SOURCES})
  list(REMOVE_ITEM _programs_own ${STATEGRAPH_FUZZ_TARGETS})
  add_executable(stategraph-conformance ${_programs_own})
  stategraph_own(stategraph-conformance)
  stategraph_program(stategraph-conformance)
  target_compile_options(stategraph-conformance PRIVATE ${STATEGRAPH_TEST_OPTIONS})
  target_compile_definitions(
    stategraph-conformance PRIVATE STATEGRAPH_HAS_ROCKSDB=$<BOOL:${STATEGRAPH_WITH_ROCKSDB}>
    STATEGRAPH_HAS_SQLITE=$<BOOL:${STATEGRAPH_WITH_SQLITE}>)
  target_link_libraries(stategraph-conformance PRIVATE stategraph-interpreter stategraph Boost::json)
  add_test(NAME conformance.memory COMMAND stategraph-conformance --saver memory ${_part_0}
           ${STATEGRAPH_CONFORMANCE_SCENARIOS})
  set_tests_properties(conformance.memory PROPERTIES TIMEOUT ${_test_seconds})
  add_test(NAME conformance.async COMMAND stategraph-conformance --async ${_part_1} ${STATEGRAPH_CONFORMANCE_SCENARIOS})
  set_tests_properties(conformance.async PROPERTIES TIMEOUT ${_test_seconds})
  add_test(NAME conformance.async_later
           COMMAND stategraph-conformance --saver later --async ${_part_2}
           ${STATEGRAPH_CONFORMANCE_SCENARIOS})
  set_tests_properties(conformance.async_later PROPERTIES TIMEOUT ${_test_seconds})
  if(STATEGRAPH_WITH_ROCKSDB)
    target_link_libraries(stategraph-conformance PRIVATE stategraph_rocksdb)
    set(_folder "${PROJECT_BINARY_DIR}/tests/run/conformance")
    add_test(
      NAME conformance.rocksdb
      COMMAND
        ${CMAKE_COMMAND} "-DFOLDER=${_folder}" -P "${PROJECT_SOURCE_DIR}/cmake/RunInEmptyFolder.cmake" --
        $<TARGET_FILE:stategraph-conformance> --saver "rocksdb:${_folder}/db" ${_part_3}
        ${STATEGRAPH_CONFORMANCE_SCENARIOS})
    set_tests_properties(conformance.rocksdb PROPERTIES TIMEOUT ${_test_seconds})
  endif()
  if(STATEGRAPH_WITH_SQLITE)
    target_link_libraries(stategraph-conformance PRIVATE stategraph_sqlite)
    set(_folder "${PROJECT_BINARY_DIR}/tests/run/conformance_sqlite")
    add_test(
      NAME conformance.sqlite
      COMMAND
        ${CMAKE_COMMAND} "-DFOLDER=${_folder}" -P "${PROJECT_SOURCE_DIR}/cmake/RunInEmptyFolder.cmake" --
        $<TARGET_FILE:stategraph-conformance> --saver "sqlite:${_folder}/threads.db" ${_part_4}
        ${STATEGRAPH_CONFORMANCE_SCENARIOS})
    set_tests_properties(conformance.sqlite PROPERTIES TIMEOUT ${_test_seconds})
  endif()
  if(STATEGRAPH_WITH_POSTGRES)
    target_compile_definitions(stategraph-conformance PRIVATE STATEGRAPH_HAS_POSTGRES=1)
    target_link_libraries(stategraph-conformance PRIVATE stategraph_postgres)
    if(STATEGRAPH_POSTGRES_SERVER)
      add_test(NAME conformance.postgres COMMAND stategraph-conformance --saver "postgres:${_postgres_conninfo}"
        ${_part_0} ${STATEGRAPH_CONFORMANCE_SCENARIOS})
      set_tests_properties(conformance.postgres PROPERTIES TIMEOUT ${_test_seconds})
      stategraph_needs_postgres(conformance.postgres)
    endif()
  endif()
endif()

# ------------------------------------------------------------------------------------------- conformance of workflows
if(STATEGRAPH_WORKFLOW_CONFORMANCE_SOURCES)
  add_executable(stategraph-workflow-conformance ${STATEGRAPH_WORKFLOW_CONFORMANCE_SOURCES})
  stategraph_own(stategraph-workflow-conformance)
  stategraph_program(stategraph-workflow-conformance)
  target_compile_options(stategraph-workflow-conformance PRIVATE ${STATEGRAPH_TEST_OPTIONS})
  target_compile_definitions(
    stategraph-workflow-conformance
    PRIVATE STATEGRAPH_HAS_ROCKSDB=$<BOOL:${STATEGRAPH_WITH_ROCKSDB}>
    STATEGRAPH_HAS_SQLITE=$<BOOL:${STATEGRAPH_WITH_SQLITE}>
            STATEGRAPH_HAS_POSTGRES=$<BOOL:${STATEGRAPH_WITH_POSTGRES}>)
  target_link_libraries(stategraph-workflow-conformance PRIVATE stategraph_workflow Boost::json)
  foreach(_number RANGE 2)
    stategraph_part(_part_${_number} ${_number} 3)
  endforeach()
  add_test(NAME workflow_conformance.memory COMMAND stategraph-workflow-conformance --saver memory ${_part_0}
    ${STATEGRAPH_WORKFLOW_SCENARIOS})
  set(_kinds rocksdb sqlite)
  set(_files db threads.db)
  set(_parts 1 2)
  foreach(_kind _file _part IN ZIP_LISTS _kinds _files _parts)
    string(TOUPPER ${_kind} _KIND)
    if(STATEGRAPH_WITH_${_KIND})
      target_link_libraries(stategraph-workflow-conformance PRIVATE stategraph_${_kind})
      set(_folder "${PROJECT_BINARY_DIR}/tests/run/workflow_conformance_${_kind}")
      add_test(
        NAME workflow_conformance.${_kind}
        COMMAND
          ${CMAKE_COMMAND} "-DFOLDER=${_folder}" -P "${PROJECT_SOURCE_DIR}/cmake/RunInEmptyFolder.cmake" --
          $<TARGET_FILE:stategraph-workflow-conformance> --saver "${_kind}:${_folder}/${_file}"
          ${_part_${_part}} ${STATEGRAPH_WORKFLOW_SCENARIOS})
    endif()
  endforeach()
  if(STATEGRAPH_WITH_POSTGRES)
    target_link_libraries(stategraph-workflow-conformance PRIVATE stategraph_postgres)
    if(TEST postgres.start)
      add_test(NAME workflow_conformance.postgres
               COMMAND stategraph-workflow-conformance --saver "postgres:${_postgres_conninfo}" ${_part_0}
               ${STATEGRAPH_WORKFLOW_SCENARIOS})
      stategraph_needs_postgres(workflow_conformance.postgres)
    endif()
  endif()
  # The steps of the scenarios sleep most of the time, and in the order of their sleeps: not beside each other, and
  # beside one test less than others are.
  foreach(_kind memory rocksdb sqlite postgres)
    if(TEST workflow_conformance.${_kind})
      set_tests_properties(workflow_conformance.${_kind} PROPERTIES TIMEOUT ${_test_seconds} PROCESSORS 2 RESOURCE_LOCK
        workflow_conformance)
    endif()
  endforeach()
endif()

# --------------------------------------------------------------------------------------------------------- process
# Programs of their own, for what one program of tests cannot do: end while runs are under way, fork, replace operator
# new or pthread_create, use other compiler options. Each must exit with 0. The first lines of a file may say
#   // OPTIONS: -mavx      compiler options of this program
#   // WITH: tests/x.cpp   a file that is part of it
#   // NOT WITH: sanitize  not built where CMAKE_CXX_FLAGS has this text
#   // TIMEOUT: 600        seconds (default 300)
function(stategraph_process_tests)
  foreach(file IN LISTS STATEGRAPH_PROCESS_SOURCES)
    cmake_path(GET file STEM name)
    file(STRINGS "${file}" lines REGEX "^// (OPTIONS|WITH|NOT WITH|TIMEOUT): ")
    set(options "")
    set(others "")
    set(seconds 300)
    set(is_wanted ON)
    foreach(line IN LISTS lines)
      if(line MATCHES "^// OPTIONS: (.*)$")
        separate_arguments(options UNIX_COMMAND "${CMAKE_MATCH_1}")
      elseif(line MATCHES "^// WITH: (.*)$")
        list(APPEND others "${PROJECT_SOURCE_DIR}/${CMAKE_MATCH_1}")
      elseif(line MATCHES "^// TIMEOUT: ([0-9]+)$")
        set(seconds ${CMAKE_MATCH_1})
      elseif(line MATCHES "^// NOT WITH: (.*)$")
        if(CMAKE_CXX_FLAGS MATCHES "${CMAKE_MATCH_1}") # not above: there it would be what matched before
          set(is_wanted OFF)
        endif()
      endif()
    endforeach()
    stategraph_products_of(products are_built "${file}")
    if(NOT is_wanted OR NOT are_built)
      continue()
    endif()
    set(target process_${name})
    add_executable(${target} "${file}")
    stategraph_own(${target})
    target_compile_options(${target} PRIVATE ${STATEGRAPH_TEST_OPTIONS} ${options})
    if(STATEGRAPH_DRIVERS IN_LIST others)
      list(REMOVE_ITEM others "${STATEGRAPH_DRIVERS}")
      target_link_libraries(${target} PRIVATE stategraph-drivers)
    endif()
    target_sources(${target} PRIVATE ${others})
    target_link_libraries(${target} PRIVATE stategraph Boost::json ${CMAKE_DL_LIBS})
    list(TRANSFORM products PREPEND stategraph_)
    target_link_libraries(${target} PRIVATE ${products})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/process")
    add_test(
      NAME process.${name}
      COMMAND ${CMAKE_COMMAND} "-DFOLDER=${PROJECT_BINARY_DIR}/tests/run/process_${name}" -P
              "${PROJECT_SOURCE_DIR}/cmake/RunInEmptyFolder.cmake" -- $<TARGET_FILE:${target}>)
    set_tests_properties(process.${name} PROPERTIES TIMEOUT ${seconds})
  endforeach()
endfunction()
stategraph_process_tests()

# ------------------------------------------------------------------------------------------------------------ kill
# Kills processes in the middle of graphs. These are the short forms; scripts/kill_run.sh has the long ones.
if(STATEGRAPH_WITH_ROCKSDB)
  set(_shared "")
  foreach(name drive graph journal)
    list(APPEND _shared "${PROJECT_SOURCE_DIR}/tests/fault/kill/${name}.cpp")
  endforeach()
  set(_child "${PROJECT_SOURCE_DIR}/tests/fault/kill/child.cpp")
  list(REMOVE_ITEM STATEGRAPH_KILL_SOURCES ${_shared} "${_child}")
  add_library(stategraph-kill-graph OBJECT ${_shared})
  add_executable(stategraph-kill ${STATEGRAPH_KILL_SOURCES})
  add_executable(stategraph-kill-child "${_child}")
  stategraph_own(stategraph-kill-graph)
  stategraph_program(stategraph-kill-graph)
  target_compile_options(stategraph-kill-graph PRIVATE ${STATEGRAPH_TEST_OPTIONS})
  target_link_libraries(stategraph-kill-graph PUBLIC stategraph)
  foreach(target stategraph-kill stategraph-kill-child)
    stategraph_own(${target})
    stategraph_program(${target})
    target_compile_options(${target} PRIVATE ${STATEGRAPH_TEST_OPTIONS})
    target_link_libraries(${target} PRIVATE stategraph-kill-graph stategraph-drivers stategraph_rocksdb)
    target_compile_definitions(
      ${target} PRIVATE STATEGRAPH_HAS_SQLITE=$<BOOL:${STATEGRAPH_WITH_SQLITE}>
      STATEGRAPH_HAS_POSTGRES=$<BOOL:${STATEGRAPH_WITH_POSTGRES}>)
    if(STATEGRAPH_WITH_SQLITE)
      target_link_libraries(${target} PRIVATE stategraph_sqlite)
    endif()
    if(STATEGRAPH_WITH_POSTGRES)
      target_link_libraries(${target} PRIVATE stategraph_postgres PostgreSQL::PostgreSQL)
    endif()
  endforeach()
  # 108 kills: 12 in each durability on each of three kinds of store. Each kind of store dies at other puts, which are
  # every seventh one together.
  set(_kill_short --kills 12)
  set(_kill_puts --mode puts --every 21)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    set(_kill_short --kills 4) # a process takes ten times as long, and executes the same code before each kill
    set(_kill_puts --mode puts --every 23)
  endif()
  set(_kill_modes short puts sigterm)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
    set(_kill_modes short sigterm) # a death at each put says nothing of threads, and takes three minutes there
  endif()
  set(_puts_everywhere ON)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=address")
    # What reads a store after a death is the same code wherever the death came, and the short runs have it on each kind
    # of store.
    set(_puts_everywhere OFF)
  endif()
  set(_kill_sigterm --mode sigterm --kills 6)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    set(_kill_sigterm --mode sigterm --kills 2)
  endif()
  if(STATEGRAPH_WITH_SQLITE)
    set(_kill_sqlite --saver sqlite ${_kill_short})
    set(_kill_sqlite_puts --saver sqlite ${_kill_puts} --first 7)
    list(APPEND _kill_modes sqlite)
    if("puts" IN_LIST _kill_modes AND _puts_everywhere)
      list(APPEND _kill_modes sqlite_puts)
    endif()
  endif()
  if(TEST postgres.start)
    set(_kill_postgres --saver postgres ${_kill_short})
    set(_kill_postgres_puts --saver postgres ${_kill_puts} --first 14)
    list(APPEND _kill_modes postgres)
    if("puts" IN_LIST _kill_modes AND _puts_everywhere)
      list(APPEND _kill_modes postgres_puts)
    endif()
  endif()
  foreach(name IN LISTS _kill_modes)
    set(_folder "${PROJECT_BINARY_DIR}/tests/run/kill_${name}")
    add_test(
      NAME kill.${name}
      COMMAND ${CMAKE_COMMAND} "-DFOLDER=${_folder}" -P "${PROJECT_SOURCE_DIR}/cmake/RunInEmptyFolder.cmake" --
              $<TARGET_FILE:stategraph-kill> ${_kill_${name}} --dir "${_folder}" --child
              $<TARGET_FILE:stategraph-kill-child>)
    set_tests_properties(kill.${name} PROPERTIES TIMEOUT 1200 LABELS kill)
    if(name MATCHES "^postgres")
      stategraph_needs_postgres(kill.${name})
    endif()
  endforeach()
endif()

# ctest begins with what costs most, so that no long test is left to run alone at the end. These are seconds of a run on
# a busy machine.
function(stategraph_long_tests seconds)
  foreach(test IN LISTS ARGN)
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES COST ${seconds})
    endif()
  endforeach()
endfunction()
stategraph_long_tests(
  90 kill.puts kill.postgres_puts kill.sqlite_puts storage/postgres/postgres_saver fault/fail_nth_saver
  fault/torn_records workflow_conformance.rocksdb workflow_conformance.postgres workflow_conformance.sqlite
  workflow_conformance.memory) # the last four one after the other
stategraph_long_tests(
  70 worker/simulation/simulation process.awaited_faults storage/sharded/postgres_sharded_contract
  storage/postgres/postgres_store storage/postgres/postgres_deployment)
stategraph_long_tests(
  50 kill.postgres kill.sqlite kill.short kill.sigterm history/visits_property checkpoint/shared_log
  checkpoint/thread_index json/shared_json_log run/warm_threads run/graph_call_ending
  storage/sharded/postgres_shard_kills process.failing_disk)
stategraph_long_tests(
  30 fault/fail_nth_user_code fault/rocksdb_torn_storage stream/inner_events_property commit/fold_equals_live
  conformance.postgres random/random storage/rocksdb/rocksdb_follow storage/rocksdb/rocksdb_log
  storage/postgres/postgres_leased_saver storage/postgres/postgres_processes checkpoint/record_damage
  worker/postgres_worker_faults process.serve_many process.serve_faults)

if(NOT STATEGRAPH_TEST_COMPILER)
  return()
endif()

# ---------------------------------------------------------------------------------------------------- compile_fail
# Each file must fail with the sentence of its "// EXPECT: " lines as its first and only error; ok_*.cpp must compile,
# which shows that the others fail for the reason they name.
get_target_property(_boost_include_dirs Boost::headers INTERFACE_INCLUDE_DIRECTORIES)
list(TRANSFORM _boost_include_dirs PREPEND "-I" OUTPUT_VARIABLE _boost_flags)
list(JOIN _boost_include_dirs "|" _boost_include_dirs)
# g++ takes NAME.gch in place of the header NAME, if it finds it earlier and the file includes nothing before it: a
# fifth of the time.
set(_compile_fail_includes "${PROJECT_SOURCE_DIR}/include|${_boost_include_dirs}")
if(STATEGRAPH_PRECOMPILED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(_folder "${PROJECT_BINARY_DIR}/tests/compile_fail_headers")
  file(CONFIGURE OUTPUT "${_folder}/all.hpp" CONTENT "#include <stategraph/stategraph.hpp>\n")
  file(MAKE_DIRECTORY "${_folder}/stategraph")
  add_custom_command(
    OUTPUT "${_folder}/stategraph/stategraph.hpp.gch"
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -Wall -Wextra "-I${PROJECT_SOURCE_DIR}/include" ${_boost_flags} -x
    c++-header "${_folder}/all.hpp" -o
            "${_folder}/stategraph/stategraph.hpp.gch" -MD -MT "${_folder}/stategraph/stategraph.hpp.gch" -MF
            "${_folder}/headers.d"
    DEPENDS "${_folder}/all.hpp"
    DEPFILE "${_folder}/headers.d"
    VERBATIM)
  add_custom_target(stategraph-compile-fail-headers ALL DEPENDS "${_folder}/stategraph/stategraph.hpp.gch")
  string(PREPEND _compile_fail_includes "${_folder}|")
endif()
foreach(file IN LISTS STATEGRAPH_COMPILE_FAIL_SOURCES)
  cmake_path(GET file STEM name)
  add_test(
    NAME compile_fail.${name}
    COMMAND
      ${CMAKE_COMMAND} "-DSOURCE=${file}" "-DCOMPILER=${CMAKE_CXX_COMPILER}"
      "-DINCLUDES=${_compile_fail_includes}" "-DOUTPUT=${PROJECT_BINARY_DIR}/tests/compile_fail/${name}.o" -P
      "${PROJECT_SOURCE_DIR}/cmake/CompileFail.cmake")
  set_tests_properties(compile_fail.${name} PROPERTIES TIMEOUT 300)
endforeach()

# -------------------------------------------------------------------------------------------------------- includes
# What stategraph.hpp costs its users: neither Boost.Graph, Asio, coroutines, RocksDB, SQLite, libpq, Boost.JSON,
# OpenSSL nor xxHash may come in with it.
add_test(
  NAME includes
  COMMAND
    ${CMAKE_COMMAND} "-DCOMPILER=${CMAKE_CXX_COMPILER}"
    "-DINCLUDES=${PROJECT_SOURCE_DIR}/include|${_boost_include_dirs}"
    "-DHEADER=stategraph/stategraph.hpp"
    "-DFORBIDDEN=/boost/graph/|/boost/asio|/coroutine$|/boost/json|/rocksdb/[^/]*\\.h$|/sqlite3\\.h$|/libpq-fe\\.h$|/openssl/[^/]*\\.h$|/xxhash\\.h$"
    -P
    "${PROJECT_SOURCE_DIR}/cmake/CheckIncludes.cmake")
set_tests_properties(includes PROPERTIES TIMEOUT 300)

# ----------------------------------------------------------------------------------------------------- the program
# What it shows is tested in tests/inspect; here, that it begins, reads a folder, and ends with the right code.
if(TARGET stategraph_command)
  add_test(NAME program.help COMMAND stategraph_command help)
  set_tests_properties(program.help PROPERTIES PASS_REGULAR_EXPRESSION "stategraph blame CHECKPOINT CHANNEL")
  # Threads in a database for the tests of the inspector's page, and the inspector inside a program: inspect/web/tests.
  if(STATEGRAPH_WITH_ROCKSDB AND STATEGRAPH_TEST_PAGES)
    add_executable(stategraph-inspected tests/pages/inspected_store.cpp)
    stategraph_own(stategraph-inspected)
    target_link_libraries(stategraph-inspected PRIVATE stategraph_inspect stategraph_rocksdb)
    # In a browser: where Chromium and Node are, and the npm packages, which scripts/test.sh and
    # inspect/web/tests/run.sh install.
    find_program(STATEGRAPH_CHROMIUM NAMES chromium chromium-browser DOC "The browser of the tests of pages")
    execute_process(COMMAND "${PROJECT_SOURCE_DIR}/tests/pages/node.sh" 20 "${PROJECT_SOURCE_DIR}/build/pages"
      RESULT_VARIABLE _has_no_node
                    OUTPUT_QUIET ERROR_QUIET)
    if(STATEGRAPH_CHROMIUM AND _has_no_node EQUAL 0 AND EXISTS
      "${PROJECT_SOURCE_DIR}/inspect/web/node_modules/playwright-core")
      add_test(NAME pages.inspector COMMAND "${PROJECT_SOURCE_DIR}/inspect/web/tests/run.sh"
        $<TARGET_FILE:stategraph-inspected> --offline)
      set_tests_properties(pages.inspector PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS pages PROCESSORS 2)
    endif()
  endif()
  add_test(NAME program.no_store COMMAND stategraph_command ls --store "${PROJECT_BINARY_DIR}/tests/no such folder")
  set_tests_properties(program.no_store PROPERTIES PASS_REGULAR_EXPRESSION "there is none")
endif()

# ------------------------------------------------------------------------------------------------------------ site
# The site and the reference: every link leads somewhere, nothing is loaded from elsewhere, Doxygen has no warning.
find_program(STATEGRAPH_MKDOCS mkdocs)
find_program(STATEGRAPH_DOXYGEN doxygen)
mark_as_advanced(STATEGRAPH_MKDOCS STATEGRAPH_DOXYGEN)
if(STATEGRAPH_TEST_COMPILER AND STATEGRAPH_MKDOCS AND STATEGRAPH_DOXYGEN)
  add_test(NAME docs.site COMMAND "${PROJECT_SOURCE_DIR}/scripts/site.sh" --offline
    "${PROJECT_BINARY_DIR}/tests/run/site")
  set_tests_properties(docs.site PROPERTIES TIMEOUT 600)
endif()

# -------------------------------------------------------------------------------------------------------- consumer
# tests/consumer is a user's project. It is built against an installed stategraph and with add_subdirectory.
set(_consumer_cache "${PROJECT_BINARY_DIR}/tests/consumer_cache.cmake")
set(_lines "")
foreach(variable CMAKE_CXX_COMPILER CMAKE_CXX_COMPILER_LAUNCHER CMAKE_PREFIX_PATH BUILD_SHARED_LIBS Boost_DIR
  RocksDB_DIR
                 XXHASH_INCLUDE_DIR OPENSSL_ROOT_DIR STATEGRAPH_WITH_ROCKSDB STATEGRAPH_WITH_SQLITE
                 STATEGRAPH_WITH_POSTGRES STATEGRAPH_WITH_ENCRYPTION
                 STATEGRAPH_WITH_MODEL_HTTP VALIJSON_INCLUDE_DIR STATEGRAPH_WITH_SCHEMA STATEGRAPH_WITH_WORKFLOW_JSON)
  if(DEFINED ${variable} AND NOT "${${variable}}" STREQUAL "")
    string(APPEND _lines "set(${variable} [==[${${variable}}]==] CACHE STRING \"\")\n")
  endif()
endforeach()
if(NOT CMAKE_CXX_COMPILER_LAUNCHER MATCHES ccache)
  string(APPEND _lines "set(STATEGRAPH_PRECOMPILED ON CACHE BOOL \"\")\n")
endif()
string(APPEND _lines "set(STATEGRAPH_TOGETHER 8 CACHE STRING \"\")\n")
file(CONFIGURE OUTPUT "${_consumer_cache}" CONTENT "${_lines}" @ONLY)

foreach(how install subdirectory)
  if(how STREQUAL "install" AND NOT STATEGRAPH_INSTALL)
    continue()
  endif()
  add_test(
    NAME consumer.${how}
    COMMAND
      ${CMAKE_COMMAND} "-DHOW=${how}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DBUILD=${PROJECT_BINARY_DIR}"
      "-DFOLDER=${PROJECT_BINARY_DIR}/tests/run/consumer_${how}" "-DCACHE=${_consumer_cache}"
      "-DCXX=${CMAKE_CXX_COMPILER}"
      "-DGENERATOR=${CMAKE_GENERATOR}" "-DCONFIG=$<CONFIG>" -P "${PROJECT_SOURCE_DIR}/cmake/BuildConsumer.cmake")
endforeach()
set_tests_properties(consumer.subdirectory PROPERTIES TIMEOUT 1200 PROCESSORS 2 COST 95)
if(STATEGRAPH_INSTALL)
  set_tests_properties(consumer.install PROPERTIES TIMEOUT 600 RESOURCE_LOCK build COST 100)
endif()

# What the tutorials show, built as a user builds it.
if(STATEGRAPH_INSTALL AND STATEGRAPH_WITH_ROCKSDB)
  add_test(
    NAME consumer.tutorials
    COMMAND
      ${CMAKE_COMMAND} "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DBUILD=${PROJECT_BINARY_DIR}"
      "-DFOLDER=${PROJECT_BINARY_DIR}/tests/run/consumer_tutorials" "-DCACHE=${_consumer_cache}"
      "-DGENERATOR=${CMAKE_GENERATOR}" "-DCONFIG=$<CONFIG>" -P "${PROJECT_SOURCE_DIR}/cmake/BuildTutorials.cmake")
  set_tests_properties(consumer.tutorials PROPERTIES TIMEOUT 600 RESOURCE_LOCK build COST 40)
endif()
