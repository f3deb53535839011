# The fuzzers, for clang: one program for each tests/fuzz/fuzz_*.cpp. The library is built with the same
# instrumentation, so they have a build folder of their own; scripts/fuzz.sh makes it and runs them.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "STATEGRAPH_BUILD_FUZZERS needs clang, which brings libFuzzer: -DCMAKE_CXX_COMPILER=clang++-16. "
                      "scripts/fuzz.sh does that.")
endif()

set(_instrumented -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
foreach(_library IN LISTS STATEGRAPH_ROOMS)
  target_compile_options(stategraph_${_library} PRIVATE ${_instrumented})
endforeach()
target_link_options(stategraph_core INTERFACE $<BUILD_INTERFACE:-fsanitize=address,undefined>)

file(GLOB _conformance CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/conformance/*.cpp")
list(FILTER _conformance EXCLUDE REGEX "/main\\.cpp$")
file(GLOB _targets CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_target.cpp")
file(GLOB _fuzzers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_*.cpp")

add_library(stategraph-fuzz-targets STATIC ${_targets} ${_conformance})
stategraph_own(stategraph-fuzz-targets)
target_compile_definitions(stategraph-fuzz-targets PRIVATE STATEGRAPH_HAS_ROCKSDB=0 STATEGRAPH_TEST_NIGHTLY=0)
target_compile_options(stategraph-fuzz-targets PRIVATE ${_instrumented})
target_link_libraries(stategraph-fuzz-targets PUBLIC stategraph Boost::json PRIVATE stategraph_xxhash)

foreach(file IN LISTS _fuzzers)
  cmake_path(GET file STEM name)
  add_executable(${name} "${file}")
  stategraph_own(${name})
  target_compile_options(${name} PRIVATE ${_instrumented})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${name} PRIVATE stategraph-fuzz-targets)
endforeach()
