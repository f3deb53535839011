# Configures, builds and runs tests/consumer in FOLDER, emptied first.
#   HOW=install       against the build tree BUILD, installed into FOLDER/prefix; and with the compiler CXX and
#                     pkg-config alone
#   HOW=packages      the same against PREFIX, where packages were unpacked
#   HOW=subdirectory  with add_subdirectory(SOURCE)
cmake_minimum_required(VERSION 3.24)
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
# Its debug information may name another folder: with ccache the library is then not compiled anew each time.
set(ENV{CCACHE_NOHASHDIR} 1)

set(config "")
if(CONFIG)
  set(config --config "${CONFIG}")
endif()

function(step)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${FOLDER}" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "This ended with ${result}: ${command}")
  endif()
endfunction()

if(HOW STREQUAL "install")
  set(PREFIX "${FOLDER}/prefix")
  step("${CMAKE_COMMAND}" --install "${BUILD}" ${config} --prefix "${PREFIX}")
endif()
if(PREFIX)
  set(arguments "-Dstategraph_ROOT=${PREFIX}")
else()
  set(arguments "-DSTATEGRAPH_DIR_TO_ADD=${SOURCE}")
endif()
step("${CMAKE_COMMAND}" -S "${SOURCE}/tests/consumer" -B "${FOLDER}/build" -G "${GENERATOR}" -C "${CACHE}"
     -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0" ${arguments})
# As a part of the user's build the library is compiled once more. Of that the core with its JSON and coroutines is
# enough: how the other products are found is configured, and that they link is what HOW=install shows.
set(programs consumer consumer_json consumer_core)
if(PREFIX)
  list(APPEND programs consumer_workflow consumer_agent)
  step("${CMAKE_COMMAND}" --build "${FOLDER}/build" ${config})
else()
  step("${CMAKE_COMMAND}" --build "${FOLDER}/build" ${config} --target ${programs})
endif()
if(PREFIX)
  file(GLOB savers RELATIVE "${FOLDER}/build/bin" "${FOLDER}/build/bin/consumer_*")
  list(APPEND programs ${savers})
  list(REMOVE_DUPLICATES programs)
endif()
foreach(program IN LISTS programs)
  step("${FOLDER}/build/bin/${program}")
endforeach()

# The same programs without CMake: the compiler, and what pkg-config says of the installed package.
if(PREFIX)
  find_program(PKG_CONFIG NAMES pkg-config pkgconf)
  if(NOT PKG_CONFIG)
    message(FATAL_ERROR "There is no pkg-config, which this test needs. On Debian: apt-get install pkg-config.")
  endif()
  file(GLOB_RECURSE packages "${PREFIX}/*.pc")
  list(GET packages 0 one)
  cmake_path(GET one PARENT_PATH packages_in)
  set(ENV{PKG_CONFIG_PATH} "${packages_in}")
  foreach(package IN LISTS packages)
    cmake_path(GET package STEM LAST_ONLY package)
    string(REGEX REPLACE "^stategraph-?" "" source "${package}")
    if(source STREQUAL "")
      set(source core)
    endif()
    if(NOT EXISTS "${SOURCE}/tests/consumer/${source}.cpp")
      set(source core) # that its libraries are found and linked
    endif()
    execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs ${package} OUTPUT_VARIABLE flags RESULT_VARIABLE result
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "pkg-config does not know ${package}.")
    endif()
    separate_arguments(flags UNIX_COMMAND "${flags}")
    step("${CXX}" -std=c++20 -O0 "${SOURCE}/tests/consumer/${source}.cpp" ${flags} "-Wl,-rpath,${packages_in}/.." -o
         "${FOLDER}/${package}")
    step("${FOLDER}/${package}")
  endforeach()
endif()

file(STRINGS "${FOLDER}/build/flags.txt" flags)
if(flags)
  message(FATAL_ERROR "These flags reach consumers: ${flags}")
endif()
