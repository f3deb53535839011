#pragma once
// What nearly every test includes, compiled once in builds without ccache (cmake/Tests.cmake). Tests still include
// everything that they use.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>
