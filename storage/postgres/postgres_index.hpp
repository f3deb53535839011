#pragma once
#include <string>
#include <string_view>

#include <stategraph/ids.hpp>

// The index of threads: columns of a thread's own row of `logs`, updated in the statement that stores.
namespace stategraph::checkpoint {

/// Returns a statement that changes a thread's place as `IndexPlace::after` does. `from` is what else it reads, or
/// empty; `which` selects the row of `logs l`; `before` has its columns as they were. The others are SQL for the log's
/// new head, for the status and wake time of PutRequest::outlook, for `placeKeptFrom(head)`, and for the summary (null:
/// none).
std::string postgresIndexUpdate(std::string_view from, std::string_view which, std::string_view before,
                                std::string_view head, std::string_view status, std::string_view due,
                                std::string_view second_ago, std::string_view summary);

/// Returns the oldest place that a thread in flight keeps, when its newest commit becomes `head` and it
/// stays so.
CheckpointId placeKeptFrom(CheckpointId head) noexcept;

}  // namespace stategraph::checkpoint
