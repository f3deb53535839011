#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/state_schema.hpp>

#include "src/superstep/apply.hpp"

namespace stategraph::engine {

/// The writes of all Commands that joined a superstep, as the one list of writes that is stored. It has the effect that
/// the Commands had one after the other, although a channel takes one value, or one overwrite, in a superstep.
class JoinedWrites {
public:
    /// `writes` are those of the newest Command. Both must outlive this object.
    JoinedWrites(const detail::Schema& schema, detail::Writes& writes);
    /// Takes the list that was stored for the Commands before.
    void takeEarlier(std::string_view list);
    /// Returns the list. `state` is the state after all Commands.
    std::string encode(const State& state) const;

private:
    struct Written {
        const detail::ChannelSpec* channel = nullptr;
        bool replaces = false;   // what was written to the channel before has no effect
        bool continues = false;  // the channel was overwritten before, and written to afterwards
    };
    Written* find(const detail::ChannelSpec* channel) noexcept;

    const detail::Schema& schema_;
    std::vector<Written> written_;  // by the newest Command
    std::string own_;               // its list
    std::string earlier_;           // the items of the earlier list that still have an effect
    std::size_t earlier_count_ = 0;
};

}  // namespace stategraph::engine
