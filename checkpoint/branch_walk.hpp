#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>

namespace stategraph::checkpoint {

// Commits of other branches lie between a checkpoint and its base. Up to so many rows and bytes they are taken along:
// that costs less than a look at each one's parent.
inline constexpr std::size_t unseen_rows_max = 64;
inline constexpr std::size_t unseen_bytes_max = std::size_t{64} << 10U;

/// Follows parents from a checkpoint to the commit that reading it begins with. `read(CheckpointId)` returns a commit's
/// record, valid until the next call, or none if the log does not have it, which ends the walk. Errors:
/// CorruptCheckpointError for a header that cannot be read.
template <class Read>
void walkToBase(const LogName& log, CheckpointId id, Read read) {
    CheckpointId base;
    for (CheckpointId wanted = id; !wanted.empty();) {
        const std::optional<std::string_view> bytes = read(wanted);
        if (!bytes) return;
        const RecordLinks links = readLinks({log.thread_id, log.checkpoint_ns, wanted}, *bytes);
        if (wanted == id) base = links.base;
        if (wanted <= base || links.base == wanted || links.parent >= wanted) return;
        wanted = links.parent;
    }
}

}  // namespace stategraph::checkpoint
