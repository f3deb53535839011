#pragma once
// Includes what most files of the library include, compiled once for builds that request it (STATEGRAPH_PRECOMPILED).
// Files still include what they use.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <stategraph/detail/async.hpp>
#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/stategraph.hpp>
