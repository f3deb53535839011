# The warnings for this project's own files; consumers never see them.
#
# Left out on purpose: clang's -Wshadow (of locals g++ warns as well), -Wconversion and -Wsign-conversion (hundreds
# of casts that say nothing new; the sanitizers look at the values), g++'s full -Wshadow (a constructor's parameter
# may be called like its member), -Wold-style-cast (macros of doctest), -Wnull-dereference (false alarms from
# inlining).
add_library(stategraph_warnings INTERFACE)
set(_gcc_like "$<OR:$<CXX_COMPILER_ID:GNU>,$<CXX_COMPILER_ID:Clang>,$<CXX_COMPILER_ID:AppleClang>>")
target_compile_options(
  stategraph_warnings
  INTERFACE
    "$<${_gcc_like}:-Wall;-Wextra;-Wpedantic;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wcast-qual;-Wundef;-Wvla>"
    # g++ 12 is wrong about these in optimised std::string, std::vector and std::optional code (GCC bugs 105651,
    # 105562, 105329, 80635), and more often under sanitizers: the first is off, the others are shown but never stop
    # a build.
    "$<$<CXX_COMPILER_ID:GNU>:-Wshadow=local;-Wextra-semi;-Wduplicated-cond;-Wlogical-op;-Wsuggest-override;-Wno-restrict>"
    "$<$<CXX_COMPILER_ID:Clang,AppleClang>:-Winconsistent-missing-override;-Wthread-safety;-Werror=thread-safety>")
if(STATEGRAPH_WERROR)
  target_compile_options(
    stategraph_warnings
    INTERFACE
      "$<${_gcc_like}:-Werror>"
      "$<$<CXX_COMPILER_ID:GNU>:-Wno-error=maybe-uninitialized;-Wno-error=array-bounds;-Wno-error=stringop-overflow;-Wno-error=stringop-overread;-Wno-error=dangling-pointer;-Wno-error=free-nonheap-object;-Wno-error=use-after-free>"
  )
endif()
unset(_gcc_like)
