#pragma once
#include <optional>
#include <string_view>

#include <stategraph/saver.hpp>

// What every saver checks of a put, and the sentences it refuses with. Defined in saver.cpp.
namespace stategraph::checkpoint {

/// Throws InvalidArgumentError if the request breaks the contract: no thread, ids that do not ascend from the expected
/// head, a base or parent that is not older, a row of no checkpoint.
void checkPut(const PutRequest& request);

/// Throws ConcurrentUpdateError: the log's head is `actual`.
[[noreturn]] void refuseHead(const LogName& log, CheckpointId expected, CheckpointId actual);

/// Throws ConcurrentUpdateError: the row does not hold what the writer expected (WriteRow::expected).
[[noreturn]] void refuseWrite(const LogName& log, const WriteRow& row);

/// Refuses the write if its row says what it expects and the stored row (none: there is no such row) is another.
void checkExpected(const LogName& log, const WriteRow& row, const std::optional<std::string_view>& stored);

/// Throws InvalidArgumentError: a copy's target has checkpoints.
[[noreturn]] void refuseCopy(std::string_view from, std::string_view to);

/// Throws InvalidArgumentError if a copy's target has no name.
void checkCopyTarget(std::string_view to);

}  // namespace stategraph::checkpoint
