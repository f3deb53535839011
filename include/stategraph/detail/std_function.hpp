#pragma once
// std::function. libstdc++ has it in a separate header, which costs a user's file a fraction of the compile time of
// <functional> (binders, searchers, and with them the algorithms and hash tables).
#if __has_include(<bits/std_function.h>)
#include <bits/std_function.h>
#else
#include <functional>
#endif
