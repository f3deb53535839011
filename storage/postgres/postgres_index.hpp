#pragma once
#include <string>
#include <string_view>

#include <stategraph/ids.hpp>

// The index of threads: columns of a thread's own row of `logs`, updated in the statement that stores.
namespace stategraph::checkpoint {

/// A statement that changes a thread's place as `IndexPlace::after` says. `from`: what else it reads, or nothing;
/// `which`: the row of `logs l`; `before`: what has its columns as they were; the others are SQL for the log's head,
/// for PutRequest::leaves_finished, and for `placeKeptFrom(head)`.
std::string postgresIndexUpdate(std::string_view from, std::string_view which, std::string_view before,
                                std::string_view head, std::string_view finishes, std::string_view second_ago);

/// An open thread whose place is not older than this keeps it, when its newest commit becomes `head`.
CheckpointId placeKeptFrom(CheckpointId head) noexcept;

}  // namespace stategraph::checkpoint
