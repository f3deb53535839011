# Configures, builds and runs tests/consumer in FOLDER, emptied first.
#   HOW=install       against the build tree BUILD, installed into FOLDER/prefix
#   HOW=subdirectory  with add_subdirectory(SOURCE)
cmake_minimum_required(VERSION 3.24)
file(REMOVE_RECURSE "${FOLDER}")
# Its debug information may name another folder: with ccache the library is then not compiled anew each time.
set(ENV{CCACHE_NOHASHDIR} 1)

set(config "")
if(CONFIG)
  set(config --config "${CONFIG}")
endif()

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "This ended with ${result}: ${command}")
  endif()
endfunction()

if(HOW STREQUAL "install")
  step("${CMAKE_COMMAND}" --install "${BUILD}" ${config} --prefix "${FOLDER}/prefix")
  set(arguments "-Dstategraph_ROOT=${FOLDER}/prefix")
else()
  set(arguments "-DSTATEGRAPH_DIR_TO_ADD=${SOURCE}")
endif()
step("${CMAKE_COMMAND}" -S "${SOURCE}/tests/consumer" -B "${FOLDER}/build" -G "${GENERATOR}" -C "${CACHE}"
     -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0" ${arguments})
# As a part of the user's build the library is compiled once more. Of that the core with its JSON and coroutines is enough: how the
# other products are found is configured, and that they link is what HOW=install shows.
set(programs consumer consumer_json consumer_core)
if(HOW STREQUAL "install")
  list(APPEND programs consumer_workflow consumer_agent)
  step("${CMAKE_COMMAND}" --build "${FOLDER}/build" ${config})
else()
  step("${CMAKE_COMMAND}" --build "${FOLDER}/build" ${config} --target ${programs})
endif()
foreach(program IN LISTS programs)
  step("${FOLDER}/build/bin/${program}")
endforeach()

file(STRINGS "${FOLDER}/build/flags.txt" flags)
if(flags)
  message(FATAL_ERROR "These flags reach consumers: ${flags}")
endif()
