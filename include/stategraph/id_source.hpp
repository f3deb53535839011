#pragma once
#include <cstdint>

#include <stategraph/detail/chrono.hpp>

namespace stategraph {

/// Where the ids of checkpoints get their time and their uniqueness, and durations their clock. Replace it in tests, to
/// make what is stored repeatable. Safe from any thread.
class IdSource {
public:
    virtual ~IdSource() = default;
    /// What time it is; microseconds count. It may stand still or jump back: ids ascend all the same.
    virtual std::chrono::system_clock::time_point now() = 0;
    /// 64 bits that no other run has.
    virtual std::uint64_t uniqueBits() = 0;
    /// A clock that never jumps, for durations (CompileOptions::durations). The epoch, which is what this gives unless
    /// it is replaced, says that there is none: no durations are stored, so what is stored stays repeatable. Whether
    /// there is one is asked when a graph is compiled. For up to a millisecond a run counts `now` forward by it.
    virtual std::chrono::steady_clock::time_point steady() { return {}; }

    /// The system's clocks and random bits.
    static IdSource& system();
};

}  // namespace stategraph
