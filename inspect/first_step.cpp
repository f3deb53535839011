#include "inspect/first_step.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/read_checkpoint.hpp>
#include <stategraph/timeline.hpp>

#include "inspect/views.hpp"

namespace stategraph::inspect {
namespace {

/// The ids of a branch, the newest first, within the limits; sets `is_cut` if the branch is longer.
std::vector<CheckpointId> branchOf(BaseCheckpointSaver& saver, const Config& newest, const FirstStepLimits& limits,
                                   bool& is_cut) {
    std::vector<CheckpointId> ids{newest.checkpoint_id};
    // The newest is in no page of the listing before it, and so is read by itself.
    const auto first = readCheckpoint(saver, newest, {.values = false});
    CheckpointId wanted = first && first->parent_config ? first->parent_config->checkpoint_id : CheckpointId();
    TimelineQuery query{.before = newest.checkpoint_id, .limit = rows_a_page};
    std::size_t entries = 0;
    while (wanted) {
        if (entries >= limits.entries) {
            is_cut = true;
            return ids;
        }
        const auto page = readTimeline(saver, newest, query);
        for (const TimelineEntry& entry : page) {
            if (entry.id != wanted) continue;
            if (ids.size() == limits.checkpoints) {
                is_cut = true;
                return ids;
            }
            ids.push_back(entry.id);
            wanted = entry.parent;
        }
        if (page.size() < query.limit) return ids;  // older ones were pruned
        entries += page.size();
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
                              const FirstStepLimits& limits, CheckpointId from) {
    FirstStepSearch search;
    auto ids = branchOf(saver, newest, limits, search.is_cut);
    std::ranges::reverse(ids);
    // The one before it says what ran.
    const auto first = std::ranges::find(ids, from);
    if (from && first == ids.end())
        throw InvalidArgumentError("the branch has no checkpoint " + from.toString() + " any more; search anew");
    bool is_before = first != ids.end() && first != ids.begin();
    if (is_before) ids.erase(ids.begin(), std::prev(first));
    std::optional<SnapshotData> before;
    Config place = newest;
    std::size_t bytes = 0;
    for (const CheckpointId& id : ids) {
        if ((bytes > limits.states_bytes || search.looked_at >= limits.reads) && search.looked_at > 0) {
            search.more = id.toString();
            return search;
        }
        place.checkpoint_id = id;
        const bool only_before = std::exchange(is_before, false);  // also if it is gone
        auto at = readCheckpoint(saver, place);
        if (!at) continue;  // pruned meanwhile
        bytes += at->values_as_cbor.bytes().size();
        if (only_before) {
            before = std::move(at);
            continue;
        }
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
