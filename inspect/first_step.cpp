#include "inspect/first_step.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/read_checkpoint.hpp>
#include <stategraph/timeline.hpp>

#include "inspect/views.hpp"

namespace stategraph::inspect {
namespace {

/// The ids of a branch, the newest first, at most `limit`; sets `is_cut` if the branch is longer.
std::vector<CheckpointId> branchOf(BaseCheckpointSaver& saver, const Config& newest, std::size_t limit, bool& is_cut) {
    std::vector<CheckpointId> ids{newest.checkpoint_id};
    // The newest is in no page of the listing before it, and so is read by itself.
    const auto first = readCheckpoint(saver, newest, {.values = false});
    CheckpointId wanted = first && first->parent_config ? first->parent_config->checkpoint_id : CheckpointId();
    TimelineQuery query{.before = newest.checkpoint_id, .limit = rows_a_page};
    while (wanted) {
        const auto page = readTimeline(saver, newest, query);
        for (const TimelineEntry& entry : page) {
            if (entry.id != wanted) continue;
            if (ids.size() == limit) {
                is_cut = true;
                return ids;
            }
            ids.push_back(entry.id);
            wanted = entry.parent;
        }
        if (page.size() < query.limit) return ids;  // older ones were pruned
        query.before = page.back().id;
    }
    return ids;
}

std::map<std::string, Value> valuesOf(const Condition& condition, const SnapshotData& at) {
    std::map<std::string, Value> values;
    for (auto& found : condition.valuesIn(at.values_as_cbor)) values.emplace(std::move(found.path), found.value);
    return values;
}

}  // namespace

FirstStepSearch findFirstStep(BaseCheckpointSaver& saver, const Config& newest, const Condition& condition,
                              std::size_t limit) {
    FirstStepSearch search;
    auto ids = branchOf(saver, newest, limit, search.is_cut);
    std::ranges::reverse(ids);
    std::optional<SnapshotData> before;
    Config place = newest;
    for (const CheckpointId& id : ids) {
        place.checkpoint_id = id;
        auto at = readCheckpoint(saver, place);
        if (!at) continue;  // pruned meanwhile
        ++search.looked_at;
        if (condition.holds(at->values_as_cbor)) {
            FirstStep& found = search.found.emplace();
            found.checkpoint_id = id.toString();
            found.step = at->step;
            found.source = toString(at->source);
            found.created_at = at->createdAt();
            if (before && at->source == Source::loop) found.ran = before->next;
            found.values = valuesOf(condition, *at);
            if (before) found.before = valuesOf(condition, *before);
            return search;
        }
        before = std::move(at);
    }
    return search;
}

}  // namespace stategraph::inspect
