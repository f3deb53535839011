# The README must show PROGRAM, from its first #include on, and what it prints (EXPECTED), as they are. PROGRAM may have
# LINES_MAX lines, without blank ones and comments, as benchmarks/lines/count.sh counts them.
cmake_minimum_required(VERSION 3.24)
file(READ "${README}" readme)
file(READ "${PROGRAM}" program)
file(READ "${EXPECTED}" expected)
string(FIND "${program}" "#include" begin)
string(SUBSTRING "${program}" ${begin} -1 program)
foreach(text IN ITEMS program expected)
  string(FIND "${readme}" "${${text}}" where)
  if(where EQUAL -1)
    message(FATAL_ERROR "${README} does not show the ${text} of ${PROGRAM} as it is now. Copy it there.")
  endif()
endforeach()

string(REGEX REPLACE "[][;]" "." lines "${program}") # they mean something in CMake's lists
string(REGEX REPLACE "[ \t]*//[^\n]*" "" lines "${lines}")
string(REGEX MATCHALL "[^ \t\n][^\n]*" lines "${lines}")
list(LENGTH lines count)
if(count GREATER LINES_MAX)
  message(FATAL_ERROR "${PROGRAM} has ${count} lines, and the README shows programs of at most ${LINES_MAX}.")
endif()
