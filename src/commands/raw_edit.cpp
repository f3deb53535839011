#include <stategraph/raw_edit.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/error.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/read_checkpoint.hpp>
#include <stategraph/unfinished.hpp>

#include "src/commands/forked.hpp"
#include "src/commands/store.hpp"
#include "src/commands/value_kinds.hpp"
#include "src/graph/names.hpp"
#include "src/threads/thread_claim.hpp"
#include "src/value/times.hpp"

// editRaw: stores a fork with other values in some channels, which are checked against what the log shows.
namespace stategraph {
namespace {

constexpr const char* named_key = "raw_edit";
constexpr const char* time_key = "raw_edit_at";

// A run under way would continue from the checkpoint that it has, and its commits would be refused.
void refuseInFlight(BaseCheckpointSaver& saver, const ThreadId& thread) {
    for (const UnfinishedThread& open : saver.unfinishedThreads({.thread_ids = {thread.toString()}})) {
        if (open.reason != Status::in_flight) continue;
        throw InvalidArgumentError(
            "the thread is in flight: a run may be under way on it. Wait until the run ends, or stop it; if its "
            "process died, fork the checkpoint first (stategraph/fork.hpp), and edit the fork");
    }
}

class EditChecker {
public:
    EditChecker(BaseCheckpointSaver& saver, const ThreadId& thread, const checkpoint::Folded& from)
        : graph_(readGraph(saver, GraphFingerprint{from.graph, from.schema})) {
        const auto snapshot = readCheckpoint(saver, {.thread_id = thread, .checkpoint_id = from.commit.id});
        if (!snapshot) return;  // it was pruned meanwhile, and the put will be refused
        values_ = snapshot->values_as_cbor;
        Decoder in(values_.bytes());
        for (std::size_t count = in.map(); count > 0; --count) {
            const std::string_view channel = in.text();
            stored_.emplace(channel, in.raw());
        }
    }

    void check(const std::string& channel, const Value& value, bool any_kind) const {
        const DescribedChannel* const described = find(channel);
        if (described != nullptr && described->kind == "untracked")
            refuse(channel, "is untracked: it is never stored, and its program begins with its initial value");
        const auto stored = stored_.find(channel);
        if (stored == stored_.end() && described == nullptr) refuseUnknown(channel);
        if (stored == stored_.end() || any_kind) return;
        const std::string why = commands::kindDifference(stored->second, value.bytes());
        if (why.empty()) return;
        refuse(channel, "would be of another kind: " + why +
                            "; its program would refuse it. Give a value of the stored kind, or allow any "
                            "(RawEditOptions::any_kind, --any-kind)");
    }

private:
    const DescribedChannel* find(std::string_view name) const {
        if (!graph_) return nullptr;
        const auto found = std::ranges::find(graph_->channels, name, &DescribedChannel::name);
        return found == graph_->channels.end() ? nullptr : &*found;
    }

    [[noreturn]] static void refuse(const std::string& channel, const std::string& why) {
        throw InvalidArgumentError("channel '" + channel + "' " + why, {.channel = channel});
    }

    [[noreturn]] void refuseUnknown(const std::string& channel) const {
        std::set<std::string_view> known;
        for (const auto& [name, value] : stored_) known.insert(name);
        if (graph_) {
            for (const DescribedChannel& each : graph_->channels) {
                if (each.kind != "untracked") known.insert(each.name);
            }
        }
        const std::vector<std::string_view> names(known.begin(), known.end());
        refuse(channel, "does not exist: neither the checkpoint nor the stored description of its graph has it" +
                            (names.empty() ? std::string() : "; there are: " + engine::quotedList(names)));
    }

    std::optional<GraphDescription> graph_;
    Value values_;
    std::map<std::string_view, std::string_view> stored_;  // views of `values_`
};

CheckpointId edit(BaseCheckpointSaver& saver, const Config& config, const std::map<std::string, Value>& values,
                  const RawEditOptions& options) {
    const LogName log{config.thread_id.view(), ""};
    refuseInFlight(saver, config.thread_id);
    const checkpoint::Folded from = commands::readForked(saver, log, config.checkpoint_id, "edit");
    const EditChecker checker(saver, config.thread_id, from);
    ForkOptions fork{.metadata = options.metadata, .durability = options.durability, .ids = options.ids};
    std::vector<std::string> names;
    commands::ChannelValues channels;
    for (const auto& [channel, value] : values) {
        checker.check(channel, value, options.any_kind);
        names.push_back(channel);
        channels.emplace(channel, value.bytes());
    }
    const CheckpointId id = commands::forkId(from, fork);
    fork.metadata.push_back({named_key, names});
    fork.metadata.push_back({time_key, times::toIso(times::unixMs(id) * 1000, 3)});
    commands::putFork(saver, log, from, id, fork, channels);
    return id;
}

}  // namespace

Config editRaw(BaseCheckpointSaver& saver, const Config& config, const std::map<std::string, Value>& values,
               const RawEditOptions& options) {
    commands::checkConfig(config, "editRaw");
    if (values.empty()) {
        throw InvalidArgumentError("editRaw: there are no values; give at least one channel its value",
                                   {.thread_id = config.thread_id.toString()});
    }
    try {
        engine::ThreadClaim claim;
        claim.acquire(saver, config.thread_id.view(), options.on_busy, options.busy_timeout);
        return {
            .thread_id = config.thread_id, .checkpoint_id = edit(saver, config, values, options), .checkpoint_ns = {}};
    } catch (Error& error) {
        error.addContext({.thread_id = config.thread_id.toString()});
        throw;
    }
}

}  // namespace stategraph
