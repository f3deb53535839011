#pragma once
// Durations, points in time, clocks and literals of <chrono>. libstdc++ has them in a header of their own, which costs
// a user's file a quarter of what all of <chrono> (calendars, streams) does.
#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
