#pragma once
#include <cstdint>

#include <stategraph/detail/chrono.hpp>

namespace stategraph {

/// Where the ids of checkpoints get their time and their uniqueness. Replace it in tests, to make what is stored
/// repeatable. Safe from any thread.
class IdSource {
public:
    virtual ~IdSource() = default;
    /// What time it is; microseconds count. It may stand still or jump back: ids ascend all the same.
    virtual std::chrono::system_clock::time_point now() = 0;
    /// 64 bits that no other run has.
    virtual std::uint64_t uniqueBits() = 0;

    /// The system's clock and random bits.
    static IdSource& system();
};

}  // namespace stategraph
