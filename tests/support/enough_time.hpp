#pragma once
#include <chrono>

/// Runs `test(limit)` with a short limit first, and each time with four times the last one, until it returns true. This
/// is for tests in which something must happen before a limit expires: a busy machine may pause a thread for longer
/// than any limit that keeps a test short, and a defect fails with every limit. Returns false if even the last limit, a
/// thousand times the first one, was not enough.
template <class Test>
bool withEnoughTime(std::chrono::milliseconds limit, Test test) {
    for (int round = 0; round < 6; ++round, limit *= 4) {
        if (test(limit)) return true;
    }
    return false;
}
