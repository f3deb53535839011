#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/value.hpp>

#include "inspect/commands.hpp"

namespace stategraph::inspect {

/// A thread that cannot be resumed, as `check` shows it.
struct IncompatibleView {
    std::string thread_id;
    std::string checkpoint_id;
    std::string checkpoint_ns;
    std::string node;
    std::string channel;
    std::string why;
    static constexpr auto fields() {
        return stategraph::fields(
            field("thread_id", &IncompatibleView::thread_id), field("checkpoint_id", &IncompatibleView::checkpoint_id),
            field("checkpoint_ns", &IncompatibleView::checkpoint_ns), field("node", &IncompatibleView::node),
            field("channel", &IncompatibleView::channel), field("why", &IncompatibleView::why));
    }
};

/// Prints them, and then their number with `sum`.
Exit showIncompatible(Call& call, const std::vector<IncompatibleView>& views, std::string_view sum);

}  // namespace stategraph::inspect
