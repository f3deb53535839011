#include "src/commit/changed_records.hpp"

#include <algorithm>

#include "src/checkpoint/paths.hpp"

namespace stategraph::engine {

ChangedRecords::ChangedRecords(const CheckpointTuple& tuple, const checkpoint::Records& records,
                               const std::set<std::string_view>& changed)
    : tuple_(tuple), records_(records) {
    for (const StoredWrite& stored : tuple.writes) {
        if (!changed.contains(stored.path)) continue;
        checkpoint::writeTask(tuple.id, *records.find(stored.path), bytes_.emplace_back());
        rows_.push_back({.checkpoint_id = tuple.id,
                         .path = stored.path,
                         .bytes = bytes_.back(),
                         .expected = std::string_view(stored.bytes)});
    }
}

void ChangedRecords::noteRun(std::string_view word) {
    const auto before = std::ranges::find(tuple_.writes, checkpoint::run_path, &StoredWrite::path);
    checkpoint::TaskFields note;
    if (const auto* const run = checkpoint::findRecord(records_, checkpoint::run_path)) note.gates = run->gates;
    note.node = word;
    checkpoint::writeTask(tuple_.id, note, bytes_.emplace_back());
    rows_.push_back({.checkpoint_id = tuple_.id,
                     .path = checkpoint::run_path,
                     .bytes = bytes_.back(),
                     .expected = before != tuple_.writes.end() ? std::string_view(before->bytes) : std::string_view()});
}

}  // namespace stategraph::engine
