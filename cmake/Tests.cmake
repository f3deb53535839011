# Programs of tests. Each room has one, tests-NAME, of its files tests/**/*_test.cpp, which links what the room may use;
# folders of tests that are no room's have a CMakeLists.txt that calls stategraph_tests(). CTest gets one entry per
# source file and not one per case (doctest_discover_tests): names of cases are sentences, whose commas and brackets
# that script mangles; hundreds of processes under a sanitizer cost more than the cases in them; and a file is what
# somebody works on: `ctest -R history/replay`. An entry has the label of its room: `ctest -L '^history$'`.
#
# The first lines of a test's source may say
#   // NOT WITH: sanitize=thread  left out where CMAKE_CXX_FLAGS has this text. ThreadSanitizer sees nothing in a test
#                                 that starts no thread
#   // ALSO PLAIN: why            what a sanitizer weakens in it: allocations, sizes. The preset once has these files,
#                                 and those that are left out with sanitizers, alone (STATEGRAPH_TEST_PLAIN)
#   // SECONDS: 50                how long it takes on a busy machine: CTest begins with those that take longest, so
#                                 that none is left to run alone at the end
find_package(doctest QUIET)
if(NOT doctest_FOUND)
  message(FATAL_ERROR "The tests need doctest, and it was not found. On Debian: apt-get install doctest-dev. "
                      "Without tests: -DSTATEGRAPH_BUILD_TESTS=OFF.")
endif()
include(Together)

# The rooms of a list that are built, each once.
function(stategraph_built out)
  set(built "")
  foreach(room IN LISTS ARGN)
    if(room IN_LIST STATEGRAPH_ROOMS)
      list(APPEND built ${room})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES built)
  set(${out} ${built} PARENT_SCOPE)
endfunction()

# The limit of an entry. It is there for what hangs: on a machine that is crowded a test may take twenty times as long.
set(STATEGRAPH_TEST_SECONDS 1800)
set(STATEGRAPH_KINDS "") # of savers, besides those in memory
if(STATEGRAPH_TEST_KINDS)
  stategraph_built(STATEGRAPH_KINDS rocksdb sqlite postgres)
endif()

# Tests on PostgreSQL use one server, which CTest starts for the first of them and ends after the last
# (tests/storage/postgres/server.sh). A socket's path is short.
file(GLOB _servers "/usr/lib/postgresql/*/bin")
find_program(STATEGRAPH_POSTGRES_SERVER postgres PATHS ${_servers} DOC "PostgreSQL's server, for tests")
mark_as_advanced(STATEGRAPH_POSTGRES_SERVER)
set(STATEGRAPH_TEST_POSTGRES "") # how it is reached; empty: there is none
if(STATEGRAPH_WITH_POSTGRES AND NOT STATEGRAPH_POSTGRES_SERVER)
  message(STATUS
    "PostgreSQL's server was not found: tests on it are left out (Debian: apt-get install postgresql-15)")
elseif(STATEGRAPH_WITH_POSTGRES)
  string(SHA1 _hash "${PROJECT_BINARY_DIR}")
  string(SUBSTRING "${_hash}" 0 12 _hash)
  set(_folder "/tmp/stategraph-pg-${_hash}")
  # A busy server may take longer to answer than connecting may take by default.
  set(STATEGRAPH_TEST_POSTGRES "host=${_folder} user=sg dbname=postgres connect_timeout=300")
  set(_script "${PROJECT_SOURCE_DIR}/tests/storage/postgres/server.sh")
  add_test(NAME postgres.start COMMAND "${_script}" start "${_folder}")
  add_test(NAME postgres.stop COMMAND "${_script}" stop "${_folder}")
  set_tests_properties(postgres.start PROPERTIES TIMEOUT ${STATEGRAPH_TEST_SECONDS} FIXTURES_SETUP postgres)
  set_tests_properties(postgres.stop PROPERTIES TIMEOUT ${STATEGRAPH_TEST_SECONDS} FIXTURES_CLEANUP postgres)
endif()
function(stategraph_needs_postgres test)
  set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED postgres ENVIRONMENT
    "STATEGRAPH_TEST_POSTGRES=${STATEGRAPH_TEST_POSTGRES}")
endfunction()

# stategraph_add_test(NAME [LABEL L] [SECONDS S] [TIMEOUT T] [IN_FOLDER] COMMAND …): an entry of CTest; IN_FOLDER: in
# an empty folder of its own, so that files that tests leave behind do not meet.
function(stategraph_add_test name)
  cmake_parse_arguments(arg "IN_FOLDER" "LABEL;SECONDS;TIMEOUT" "COMMAND" ${ARGN})
  if(arg_IN_FOLDER)
    string(REPLACE "." "_" folder "${name}")
    list(PREPEND arg_COMMAND "${PROJECT_SOURCE_DIR}/tests/in_empty_folder.sh"
      "${PROJECT_BINARY_DIR}/tests/run/${folder}")
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${STATEGRAPH_TEST_SECONDS})
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABEL}")
  if(arg_SECONDS)
    set_tests_properties(${name} PROPERTIES COST ${arg_SECONDS})
  endif()
endfunction()

# What the first lines of a test's source say: sets WANTED, SECONDS, OPTIONS and WITH of the caller.
function(stategraph_read_words file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(STRINGS "${file}" lines REGEX "^// (NOT WITH|ALSO PLAIN|SECONDS|OPTIONS|WITH): ")
  set(WANTED ON)
  set(PLAIN OFF PARENT_SCOPE)
  foreach(word SECONDS OPTIONS WITH)
    set(${word} "" PARENT_SCOPE)
  endforeach()
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^// ([A-Z ]+): (.*)$" line "${line}")
    set(word "${CMAKE_MATCH_1}")
    set(value "${CMAKE_MATCH_2}")
    if(word STREQUAL "ALSO PLAIN" OR line STREQUAL "// NOT WITH: sanitize")
      set(PLAIN ON PARENT_SCOPE)
    endif()
    if(word STREQUAL "ALSO PLAIN")
      continue()
    elseif(NOT word STREQUAL "NOT WITH")
      separate_arguments(value UNIX_COMMAND "${value}")
      set(${word} ${value} PARENT_SCOPE)
    elseif(CMAKE_CXX_FLAGS MATCHES "${value}")
      set(WANTED OFF)
    endif()
  endforeach()
  set(WANTED ${WANTED} PARENT_SCOPE)
endfunction()

# How the tests' own files are compiled: as the library's, with less work for the optimiser.
function(stategraph_own_test target)
  stategraph_own(${target})
  target_compile_options(${target} PRIVATE ${STATEGRAPH_TEST_OPTIONS})
  target_compile_definitions(
    ${target} PRIVATE STATEGRAPH_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests" # golden files and others
                      STATEGRAPH_TEST_NIGHTLY=$<BOOL:${STATEGRAPH_TEST_NIGHTLY}>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND STATEGRAPH_TOGETHER)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage) # as the libraries
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
endfunction()

# Tells a target's sources which products it is linked with.
function(stategraph_tell_products target)
  foreach(room rocksdb sqlite postgres encryption)
    string(TOUPPER ${room} ROOM)
    set(has 0)
    if(room IN_LIST ARGN)
      set(has 1)
    endif()
    target_compile_definitions(${target} PRIVATE STATEGRAPH_HAS_${ROOM}=${has})
  endforeach()
endfunction()

# The option of a program of scenarios that makes it try one part of five. Tests on other kinds of savers try other
# parts, and those of the next commit try others again, so that all are tried on each kind.
function(stategraph_part out number)
  math(EXPR part "(${number} + ${STATEGRAPH_TEST_TURN}) % 5")
  set(option --part ${part}/5)
  if(STATEGRAPH_TEST_NIGHTLY)
    set(option "")
  endif()
  set(${out} ${option} PARENT_SCOPE)
endfunction()

# stategraph_test_program(NAME [ON_EVERY_KIND] FOLDERS … USES … LINKS …): the program tests-NAME and its entries. The
# tests of a floor link the core, since a graph of any type refers to all of it.
function(stategraph_test_program name)
  cmake_parse_arguments(arg "ON_EVERY_KIND" "" "FOLDERS;USES;LINKS" ${ARGN})
  if(STATEGRAPH_TEST_ROOMS AND NOT name IN_LIST STATEGRAPH_TEST_ROOMS)
    return()
  endif()
  set(files "")
  foreach(folder IN LISTS arg_FOLDERS)
    stategraph_files_below(more tests/${folder} _test.cpp ${STATEGRAPH_TESTED_FOLDERS})
    list(APPEND files ${more})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY STATEGRAPH_TESTS_IN_PROGRAMS ${files})
  if(NOT files)
    message(FATAL_ERROR "There is no test of ${name}: tests/${arg_FOLDERS} has no file NAME_test.cpp.")
  endif()
  if(arg_ON_EVERY_KIND AND STATEGRAPH_TEST_KINDS)
    list(APPEND arg_USES rocksdb sqlite postgres)
  endif()
  stategraph_built(uses ${arg_USES})
  set(wanted "")
  foreach(file IN LISTS files)
    stategraph_read_words("${file}")
    stategraph_products_of(products are_built "${file}")
    if(NOT arg_ON_EVERY_KIND)
      stategraph_includes(on_every "${file}" "tests/(storage/store/stores|support/caches|support/savers)\\.hpp")
      if(on_every)
        message(FATAL_ERROR "${file} runs on every kind of saver, store or cache, and ${name} is not ON_EVERY_KIND.")
      endif()
    endif()
    if(WANTED AND are_built AND (PLAIN OR NOT STATEGRAPH_TEST_PLAIN))
      list(APPEND wanted "${file}")
      set(seconds_of_${file} ${SECONDS})
    endif()
  endforeach()
  if(NOT wanted)
    return()
  endif()
  set(target tests-${name})
  add_executable(${target})
  stategraph_own_test(${target})
  stategraph_tell_products(${target} ${uses})
  # With ThreadSanitizer, what includes Asio is compiled as the library's files that do.
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
    foreach(file IN LISTS wanted)
      stategraph_includes(asio "${file}" "stategraph/asio\\.hpp|boost/asio/|tests/asio/")
      if(asio)
        set_source_files_properties("${file}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
          "-DBOOST_ASIO_DISABLE_FENCED_BLOCK;-include;${PROJECT_SOURCE_DIR}/tests/support/asio_for_tsan.hpp")
      endif()
    endforeach()
  endif()
  set(sources ${wanted})
  if(STATEGRAPH_TOGETHER)
    # Tests have more headers and templates in common than the library's files have, and namespaces of their own.
    math(EXPR at_once "2 * ${STATEGRAPH_TOGETHER}")
    stategraph_compile_together(sources ${name} ${at_once} ${wanted})
  endif()
  target_sources(${target} PRIVATE ${sources})
  if(TARGET stategraph-test-headers)
    target_precompile_headers(${target} REUSE_FROM stategraph-test-headers)
  endif()
  foreach(room IN LISTS uses)
    if(STATEGRAPH_ROOM_${room}_PART_OF)
      set(room ${STATEGRAPH_ROOM_${room}_PART_OF})
    endif()
    target_link_libraries(${target} PRIVATE stategraph_${room})
  endforeach()
  foreach(room IN LISTS uses) # what tests use of these themselves
    target_link_libraries(${target} PRIVATE ${STATEGRAPH_ROOM_${room}_LINKS})
  endforeach()
  foreach(link IN LISTS arg_LINKS)
    if(TARGET ${link} OR NOT link STREQUAL "stategraph-test-servers") # which need OpenSSL
      target_link_libraries(${target} PRIVATE ${link})
    endif()
  endforeach()
  target_link_libraries(${target} PRIVATE stategraph-test-main stategraph-test-runs stategraph-test-support
    doctest::doctest)
  if(arg_ON_EVERY_KIND)
    foreach(kind rocksdb sqlite postgres)
      if(TARGET stategraph-kind-${kind} AND kind IN_LIST uses)
        target_link_libraries(${target} PRIVATE stategraph-kind-${kind})
      endif()
    endforeach()
  endif()
  foreach(file IN LISTS wanted)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/tests" OUTPUT_VARIABLE path)
    string(REGEX REPLACE "_test\\.cpp$" "" test "${path}")
    stategraph_add_test(${test} IN_FOLDER LABEL ${name} SECONDS ${seconds_of_${file}} COMMAND $<TARGET_FILE:${target}>
      "-sf=*/tests/${path}" --no-intro --no-path-filenames)
    # A filter that fits nothing would pass.
    set_tests_properties(${test} PROPERTIES FAIL_REGULAR_EXPRESSION "test cases: +0 ")
    if(STATEGRAPH_TEST_POSTGRES AND "postgres" IN_LIST uses)
      # Also those that run on every kind of store or cache.
      stategraph_includes(on_every "${file}"
        "tests/(storage/store/stores|support/caches|storage/postgres/postgres_helper)\\.hpp")
      if(test MATCHES "/postgres_" OR on_every)
        stategraph_needs_postgres(${test})
      endif()
    endif()
  endforeach()
endfunction()

# stategraph_tests(NAME [ON_EVERY_KIND] [STARTS_THREADS] USES ROOM… [LINKS TARGET…]): a folder of tests that is no
# room's. It is left out where one of the rooms is not built.
function(stategraph_tests name)
  cmake_parse_arguments(arg "ON_EVERY_KIND;STARTS_THREADS" "" "USES;LINKS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "stategraph_tests(${name}): ${arg_UNPARSED_ARGUMENTS} is no word of cmake/Tests.cmake.")
  endif()
  set(missing ${arg_USES})
  list(REMOVE_ITEM missing ${STATEGRAPH_ROOMS} core)
  if(missing)
    message(STATUS "The tests ${name} are left out: without ${missing}.")
    file(GLOB_RECURSE left_out CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp")
    set_property(GLOBAL APPEND PROPERTY STATEGRAPH_TESTS_IN_PROGRAMS ${left_out})
    return()
  endif()
  set(every "")
  if(arg_ON_EVERY_KIND)
    set(every ON_EVERY_KIND)
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/tests" OUTPUT_VARIABLE folder)
  stategraph_test_program(${name} ${every} FOLDERS ${folder} USES ${arg_USES} LINKS ${arg_LINKS})
endfunction()

# The programs of all rooms.
function(stategraph_test_rooms)
  foreach(room IN LISTS STATEGRAPH_ROOMS)
    if(STATEGRAPH_ROOM_${room}_TESTS)
      set(every "")
      if(STATEGRAPH_ROOM_${room}_ON_EVERY_KIND)
        set(every ON_EVERY_KIND)
      endif()
      stategraph_test_program(${room} ${every} FOLDERS ${STATEGRAPH_ROOM_${room}_TESTS}
        USES ${room} ${STATEGRAPH_ROOM_${room}_TESTS_USE} LINKS ${STATEGRAPH_ROOM_${room}_TESTS_LINK})
    endif()
  endforeach()
endfunction()

# A test that is in no program would be run by nobody.
function(stategraph_check_tests)
  if(STATEGRAPH_TEST_ROOMS)
    return()
  endif()
  get_property(in_programs GLOBAL PROPERTY STATEGRAPH_TESTS_IN_PROGRAMS)
  foreach(room IN LISTS STATEGRAPH_COMPONENTS)
    if(NOT room IN_LIST STATEGRAPH_ROOMS)
      foreach(folder IN LISTS STATEGRAPH_ROOM_${room}_TESTS)
        stategraph_files_below(more tests/${folder} _test.cpp ${STATEGRAPH_TESTED_FOLDERS})
        list(APPEND in_programs ${more})
      endforeach()
    endif()
  endforeach()
  file(GLOB_RECURSE all CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*_test.cpp")
  list(REMOVE_ITEM all ${in_programs})
  if(all)
    message(FATAL_ERROR "These tests are in no program: ${all}. A folder of tests is a room's (tests/ and the room's "
      "folder), or has a CMakeLists.txt that calls stategraph_tests().")
  endif()
endfunction()
