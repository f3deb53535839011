#pragma once
#include <string>
#include <string_view>

#include <stategraph/ids.hpp>

// The index of threads: columns of a thread's own row of `logs`, updated in the statement that stores.
namespace stategraph::checkpoint {

/// A statement that changes a thread's place as `IndexPlace::after` says. `from`: what else it reads, or nothing;
/// `which`: the row of `logs l`; `before`: what has its columns as they were; the others are SQL for the log's head,
/// for the status and wake time of PutRequest::outlook, for `placeKeptFrom(head)`, and for the summary (null: none).
std::string postgresIndexUpdate(std::string_view from, std::string_view which, std::string_view before,
                                std::string_view head, std::string_view status, std::string_view due,
                                std::string_view second_ago, std::string_view summary);

/// A thread of unknown status whose place is not older than this keeps it, when its newest commit becomes `head` and
/// its status stays unknown.
CheckpointId placeKeptFrom(CheckpointId head) noexcept;

}  // namespace stategraph::checkpoint
