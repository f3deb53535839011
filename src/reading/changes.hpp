#pragma once
#include <optional>
#include <string_view>

#include <stategraph/checkpoint_changes.hpp>

#include "src/checkpoint/commit_fields.hpp"
#include "src/checkpoint/repeated_values.hpp"

// Shows operations of commits as data.
namespace stategraph::reading {

/// Reads a commit's record. `parent_input` provides the values that are in its parent's input. Errors:
/// CorruptCheckpointError.
void readWithInput(const RowKey& key, std::string_view bytes, std::optional<std::string_view> parent_input,
                   checkpoint::CommitReader& commit);

ChannelChange changeOf(const checkpoint::LoggedOp& operation);

}  // namespace stategraph::reading
