# Preprocesses HEADER with COMPILER (folders INCLUDES, separated by |) and fails if it includes, however far down, a
# file whose path matches the regular expression FORBIDDEN.
cmake_minimum_required(VERSION 3.24)
string(REPLACE "|" ";" folders "${INCLUDES}")
list(TRANSFORM folders PREPEND "-I")

set(source "${CMAKE_CURRENT_BINARY_DIR}/check_includes.cpp")
file(WRITE "${source}" "#include <${HEADER}>\n")
execute_process(
  COMMAND "${COMPILER}" -std=c++20 -M ${folders} "${source}"
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE errors)
if(NOT result EQUAL 0)
  message("${errors}")
  message(FATAL_ERROR "${HEADER} cannot be preprocessed.")
endif()

string(REGEX REPLACE "[\\\\ \n]+" ";" files "${output}")
set(found "")
foreach(file IN LISTS files)
  if(file MATCHES "${FORBIDDEN}")
    string(APPEND found "  ${file}\n")
  endif()
endforeach()
if(found)
  message("${found}")
  message(FATAL_ERROR "${HEADER} must not include these.")
endif()
