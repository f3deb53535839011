# Builds TARGET in BUILD, whose only file is SOURCE. ok_*.cpp must compile; any other must not, and the compiler's output
# must hold the text of every "// EXPECT: " line at its top.
cmake_minimum_required(VERSION 3.24)

file(STRINGS "${SOURCE}" lines REGEX "^// EXPECT: ")
cmake_path(GET SOURCE FILENAME name)
set(must_compile FALSE)
if(name MATCHES "^ok_")
  set(must_compile TRUE)
elseif(NOT lines)
  message(FATAL_ERROR "${name} has no line \"// EXPECT: <a part of the error's text>\".")
endif()

set(ENV{LC_ALL} C)
execute_process(
  COMMAND "${CMAKE_COMMAND}" --build "${BUILD}" --target "${TARGET}"
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)

if(must_compile)
  if(NOT result EQUAL 0)
    message("${output}")
    message(FATAL_ERROR "${name} must compile.")
  endif()
elseif(result EQUAL 0)
  message(FATAL_ERROR "${name} compiles, and it must not.")
else()
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^// EXPECT: " "" text "${line}")
    string(FIND "${output}" "${text}" where)
    if(where EQUAL -1)
      message("${output}")
      message(FATAL_ERROR "${name} does not compile, as it should, but the compiler does not say: ${text}")
    endif()
  endforeach()
endif()
