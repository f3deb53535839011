#pragma once
// std::function. libstdc++ has it in a header of its own, which costs a user's file a fraction of what all of
// <functional> (binders, searchers, and with them the algorithms and hash tables) does.
#if __has_include(<bits/std_function.h>)
#include <bits/std_function.h>
#else
#include <functional>
#endif
