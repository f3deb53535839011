# Types the commands of the file SESSION in FOLDER, emptied first, and compares what they print with what the file says
# (cmake/CompareOutput.cmake). PROGRAM is in that folder, under NAME, and TOOL, the program `stategraph`, is in PATH.
#
# A line that begins with "$ " is a command, for sh; the lines after it, up to the next command, are what it prints to
# stdout and stderr. Lines "# [begin NAME]" and "# [end NAME]" are for documents that show a part
# (tests/repository/snippets_test.cpp). A command may fail: a session that means it to says so with `; echo $?`.
# STATEGRAPH_UPDATE_GOLDEN=1 in the environment writes what is printed into SESSION, except for lines that match their
# expression.

cmake_minimum_required(VERSION 3.24)
include("${CMAKE_CURRENT_LIST_DIR}/CompareOutput.cmake")
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
file(CREATE_LINK "${PROGRAM}" "${FOLDER}/${NAME}" SYMBOLIC)
if(TOOL)
  cmake_path(GET TOOL PARENT_PATH _tools)
  set(ENV{PATH} "${_tools}:$ENV{PATH}")
endif()

set(golden "") # the file as it would be written
set(all_differences "")
set(command "")
set(wanted "")

# Runs the command that was read last, and compares.
function(run_command)
  if(command STREQUAL "")
    return()
  endif()
  execute_process(
    COMMAND sh -c "${command}"
    WORKING_DIRECTORY "${FOLDER}"
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  compare_output("${output}" "${wanted}")
  if(DIFFERENCES)
    string(APPEND all_differences "after $ ${command}\n${DIFFERENCES}")
  endif()
  set(all_differences "${all_differences}" PARENT_SCOPE)
  set(golden "${golden}${GOLDEN}" PARENT_SCOPE)
endfunction()

file(READ "${SESSION}" rest)
while(NOT "${rest}" STREQUAL "")
  take_line(rest line)
  string(SUBSTRING "${line}" 0 2 mark)
  if(mark STREQUAL "$ " OR line MATCHES "^# \\[(begin|end) ")
    run_command()
    set(command "")
    set(wanted "")
    string(APPEND golden "${line}\n")
    if(mark STREQUAL "$ ")
      string(SUBSTRING "${line}" 2 -1 command)
    endif()
  else()
    string(APPEND wanted "${line}\n")
  endif()
endwhile()
run_command()

if("$ENV{STATEGRAPH_UPDATE_GOLDEN}")
  file(WRITE "${SESSION}" "${golden}")
elseif(all_differences)
  message("${all_differences}")
  message(FATAL_ERROR "The session is not that of ${SESSION}.")
endif()
