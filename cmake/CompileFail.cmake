# Compiles SOURCE. ok_*.cpp must compile without a warning. Any other must not, and each "// EXPECT: " line at its top
# must be in the first error; there must be no other error, so that a user who makes the mistake reads one sentence. "//
# THEN: " lines are regular expressions for what the compiler cannot be kept from saying as well.
# COMPILER, INCLUDES (separated by |) and OUTPUT, a file to write, are given as well.
cmake_minimum_required(VERSION 3.24)

file(STRINGS "${SOURCE}" lines REGEX "^// EXPECT: ")
file(STRINGS "${SOURCE}" further REGEX "^// THEN: ")
cmake_path(GET SOURCE FILENAME name)
set(must_compile FALSE)
if(name MATCHES "^ok_")
  set(must_compile TRUE)
elseif(NOT lines)
  message(FATAL_ERROR "${name} has no line \"// EXPECT: <a part of the error's text>\".")
endif()

string(REPLACE "|" ";" INCLUDES "${INCLUDES}")
list(POP_FRONT INCLUDES own)
set(flags "-I${own}")
foreach(folder IN LISTS INCLUDES)
  list(APPEND flags "-I${folder}") # of a system folder it changes nothing
endforeach()
cmake_path(GET OUTPUT PARENT_PATH folder)
file(MAKE_DIRECTORY "${folder}")

set(ENV{LC_ALL} C)
execute_process(
  COMMAND "${COMPILER}" -std=c++20 -Wall -Wextra ${flags} -c "${SOURCE}" -o "${OUTPUT}"
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)

if(must_compile)
  if(NOT result EQUAL 0 OR output MATCHES "warning: ")
    message("${output}")
    message(FATAL_ERROR "${name} must compile without a warning.")
  endif()
elseif(result EQUAL 0)
  message(FATAL_ERROR "${name} compiles, and it must not.")
else()
  string(REPLACE ";" "," one_list "${output}")
  string(REGEX MATCHALL "[^\n]*error: [^\n]*" errors "${one_list}")
  list(GET errors 0 first)
  foreach(line IN LISTS further)
    string(REGEX REPLACE "^// THEN: " "" text "${line}")
    list(FILTER errors EXCLUDE REGEX "${text}")
  endforeach()
  list(LENGTH errors count)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^// EXPECT: " "" text "${line}")
    string(REPLACE ";" "," text "${text}")
    string(FIND "${first}" "${text}" where)
    if(where EQUAL -1)
      message("${output}")
      message(FATAL_ERROR "The compiler's first error about ${name} is not: ${text}")
    endif()
  endforeach()
  if(NOT count EQUAL 1)
    message("${output}")
    message(FATAL_ERROR "The compiler has ${count} errors about ${name}; there must be one.")
  endif()
endif()
