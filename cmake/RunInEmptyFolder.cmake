# Empties FOLDER, then runs the command after "--" in it, so that tests which run at the same time share no file; fails
# if the command fails.
#   cmake -DFOLDER=… -P RunInEmptyFolder.cmake -- program arguments…
cmake_minimum_required(VERSION 3.24)
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")

set(command "")
set(after FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(after)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(after TRUE)
  endif()
endforeach()
execute_process(COMMAND ${command} WORKING_DIRECTORY "${FOLDER}" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "It ended with ${result}.")
endif()
