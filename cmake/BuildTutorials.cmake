# Builds examples/tutorials in FOLDER, emptied first, against the build tree BUILD, installed into FOLDER/prefix: that
# what the tutorials show works for a user who copies it. CACHE is what the user's machine knows, such as the compiler.
cmake_minimum_required(VERSION 3.24)
file(REMOVE_RECURSE "${FOLDER}")
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

step("${CMAKE_COMMAND}" --install "${BUILD}" ${config} --prefix "${FOLDER}/prefix")
step("${CMAKE_COMMAND}" -S "${SOURCE}/examples/tutorials" -B "${FOLDER}/build" -G "${GENERATOR}" -C "${CACHE}"
     -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0" "-DCMAKE_PREFIX_PATH=${FOLDER}/prefix")
step("${CMAKE_COMMAND}" --build "${FOLDER}/build" ${config})
step("${FOLDER}/build/first_graph")
