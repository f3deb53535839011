#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/model/message.hpp>

namespace stategraph::model {

/// What pruneMessages leaves out.
struct PruneOptions {
    /// Leaves out thoughts, except those of the last messages, this many; none: all are kept.
    std::optional<std::size_t> reasoning_but_last = {};
    /// Leaves out calls of tools and their results, except those of which the last messages, this many, have the call
    /// or the result, and the calls that were requested together with those; none: all are kept. Calls of the
    /// provider's own tools are left out too.
    std::optional<std::size_t> calls_but_last = {};
    /// The tools whose calls are left out; empty: all.
    std::vector<std::string> tools = {};
};

/// The conversation without what a model no longer needs, for ModelCall::messages, while the state keeps everything. A
/// call is left out together with its result, and the last call of a message together with the thoughts before it, so
/// the rest is valid for providers if the conversation is. Messages of which nothing is left are left out. Cost:
/// linear; copies what is kept.
std::vector<Message> pruneMessages(const std::vector<Message>& messages, const PruneOptions& options);

}  // namespace stategraph::model
