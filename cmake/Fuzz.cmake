# The fuzzers, for clang: one program for each tests/fuzz/fuzz_*.cpp, and for each tests/fuzz_products/*_target.hpp
# (whose function for json_target.hpp is runJson). The library is built with the same instrumentation, so they have a
# build folder of their own; scripts/fuzz.sh makes it and runs them.
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

file(GLOB _targets CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz_products/*_target.hpp")
foreach(file IN LISTS _targets)
  cmake_path(GET file STEM name)
  string(REGEX REPLACE "_target$" "" name ${name})
  string(REPLACE "_" ";" words ${name})
  set(function run)
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND function ${first}${rest})
  endforeach()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/fuzz/${name}.cpp" CONTENT [[
#include "@file@"
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::@function@({reinterpret_cast<const char*>(data), size});
}
]] @ONLY)
  add_executable(fuzz_${name} "${PROJECT_BINARY_DIR}/fuzz/${name}.cpp")
  stategraph_own(fuzz_${name})
  target_compile_options(fuzz_${name} PRIVATE ${_instrumented})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  foreach(room json schema workflow_json mcp model_http serve)
    target_link_libraries(fuzz_${name} PRIVATE stategraph_${room})
  endforeach()
  target_link_libraries(fuzz_${name} PRIVATE Boost::json)
endforeach()
