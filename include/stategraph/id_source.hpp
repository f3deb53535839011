#pragma once
#include <cstdint>

namespace stategraph {

/// Where the ids of checkpoints get their time and their uniqueness. Replace it in tests, to make what is stored repeatable.
/// Safe from any thread.
class IdSource {
public:
    virtual ~IdSource() = default;
    /// Microseconds since 1970. It may stand still or jump back: ids ascend all the same.
    virtual std::int64_t nowUnixUs() = 0;
    /// 64 bits that no other run has.
    virtual std::uint64_t uniqueBits() = 0;

    /// The system's clock and random bits.
    static IdSource& system();
};

}  // namespace stategraph
