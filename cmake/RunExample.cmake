# Runs PROGRAM in FOLDER, emptied first, and compares what it prints with the file EXPECTED (cmake/CompareOutput.cmake).
#
# If EXPECTED is X.txt and X.2.txt exists, the program runs again in the same folder and must then print that: an
# example that shows that a thread outlives its process. STATEGRAPH_UPDATE_GOLDEN=1 in the environment writes what it
# prints to EXPECTED, except for lines that match their expression.

cmake_minimum_required(VERSION 3.24)
include("${CMAKE_CURRENT_LIST_DIR}/CompareOutput.cmake")
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")

function(run expected_file)
  execute_process(
    COMMAND "${PROGRAM}"
    WORKING_DIRECTORY "${FOLDER}"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    message("--- it printed\n${output}--- and to stderr\n${errors}")
    message(FATAL_ERROR "${PROGRAM} ended with ${result}.")
  endif()

  set(expected "")
  if(EXISTS "${expected_file}")
    file(READ "${expected_file}" expected)
  elseif(NOT "$ENV{STATEGRAPH_UPDATE_GOLDEN}")
    message("--- it printed\n${output}")
    message(FATAL_ERROR "${expected_file} does not exist.")
  endif()

  compare_output("${output}" "${expected}")
  if("$ENV{STATEGRAPH_UPDATE_GOLDEN}")
    file(WRITE "${expected_file}" "${GOLDEN}")
  elseif(DIFFERENCES)
    message("${DIFFERENCES}--- all that it printed\n${output}")
    message(FATAL_ERROR "The output is not that of ${expected_file}.")
  endif()
endfunction()

run("${EXPECTED}")
string(REGEX REPLACE "\\.txt$" ".2.txt" second "${EXPECTED}")
if(EXISTS "${second}")
  run("${second}")
endif()
