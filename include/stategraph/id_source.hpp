#pragma once
#include <cstdint>

#include <stategraph/detail/chrono.hpp>

namespace stategraph {

/// Provides the time and the random bits of checkpoint ids, and the clock of durations. Replace it in tests, to make
/// stored bytes repeatable. Safe from any thread.
class IdSource {
public:
    virtual ~IdSource() = default;
    /// The current time, in microseconds. It may stand still or jump back: ids ascend nevertheless.
    virtual std::chrono::system_clock::time_point now() = 0;
    /// 64 bits that differ for every run.
    virtual std::uint64_t uniqueBits() = 0;
    /// A clock that never jumps, for durations (CompileOptions::durations). The default implementation returns the
    /// epoch, which means that there is no such clock: no durations are stored, so that stored bytes stay repeatable.
    /// It is asked when a graph is compiled. A run advances `now` by this clock for up to a millisecond.
    virtual std::chrono::steady_clock::time_point steady() { return {}; }

    /// The system's clocks and random bits.
    static IdSource& system();
};

}  // namespace stategraph
