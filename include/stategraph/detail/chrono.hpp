#pragma once
// Durations, points in time, clocks and literals of <chrono>. libstdc++ has them in a separate header, which costs a
// user's file a quarter of the compile time of <chrono> (with calendars and streams).
#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
