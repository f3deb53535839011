#include <algorithm>
#include <string>
#include <utility>

#include <stategraph/compatibility.hpp>
#include <stategraph/error.hpp>
#include <stategraph/graph_description.hpp>

#include "src/checkpoint/due_tasks.hpp"
#include "src/checkpoint/fold.hpp"
#include "src/commit/ids.hpp"
#include "src/commit/restore.hpp"

// checkCompatibility without the program: whether a graph, of which the description is known, has the nodes and the
// channels that a thread needs.
namespace stategraph {
namespace {

constexpr std::size_t described_page_size = 256;

// What a value is stored as, in the words of DescribedChannel::holds; empty for null, which any optional type takes. A
// text that is not UTF-8 is stored as bytes.
std::string_view storedKind(std::string_view cbor) {
    switch (Decoder(cbor).peek()) {
        case Decoder::Type::boolean:
            return "boolean";
        case Decoder::Type::unsigned_integer:
        case Decoder::Type::negative_integer:
        case Decoder::Type::real:
            return "number";
        case Decoder::Type::text:
        case Decoder::Type::bytes:
            return "text";
        case Decoder::Type::array:
            return "list";
        case Decoder::Type::map:
            return "map";
        case Decoder::Type::null:
        case Decoder::Type::end:
            break;
    }
    return {};
}

// The kind of a channel's value: that of the last set, or what the operations without one are about.
std::string_view kindOf(const checkpoint::FoldedChannel& channel) {
    const checkpoint::LogPiece& first = channel.pieces.front();
    if (first.op == checkpoint::LogOp::set) return storedKind(first.value);
    return first.op == checkpoint::LogOp::put ? "map" : "list";
}

class Checker {
public:
    Checker(BaseCheckpointSaver& saver, std::span<const GraphDescription> graphs, bool lost_channels)
        : saver_(saver), graphs_(graphs), lost_channels_(lost_channels) {}

    /// The first reason why the thread cannot be resumed.
    std::optional<IncompatibleThread> check(const std::string& thread_id, CheckpointId head) {
        found_.reset();
        try {
            checkLog(graphs_.front(), thread_id, "", {}, {});
        } catch (const CorruptCheckpointError& error) {
            found_ = IncompatibleThread{.thread_id = thread_id,
                                        .checkpoint_id = head,
                                        .checkpoint_ns = error.context().checkpoint_ns,
                                        .node = {},
                                        .channel = {},
                                        .why = error.message()};
        }
        return std::move(found_);
    }

private:
    struct Outer {
        std::string_view ns;
        CheckpointId id;
    };

    // `outer`: the checkpoint around the log, if the log must be at one below it. `as_node`: the node of the outer
    // graph that is this graph.
    void checkLog(const GraphDescription& graph, const std::string& thread_id, const std::string& ns,
                  const std::optional<Outer>& outer, const std::string& as_node) {
        const LogName log{thread_id, ns};
        auto tuple = saver_.getTuple({.log = log});
        if (!tuple) return;
        const checkpoint::Folded at = checkpoint::fold(log, std::move(*tuple));
        if (outer && !engine::isOfVisit(at.commit, outer->ns, outer->id)) return;
        const checkpoint::Records records = checkpoint::readRecords(log, at.commit.id, at.tuple.writes);
        if (checkpoint::saysCancelled(records)) return;
        const auto require = [&](std::string_view node, const char* what) {
            const bool is_there = node == "__start__" || node == "__end__" || graph.findStored(node) != nullptr;
            if (!is_there && !found_) found_ = missing(log, at.commit.id, node, what);
        };
        const auto due = checkpoint::dueTasks(at.commit, records, true);
        for (const checkpoint::DueTask& task : due) require(task.name, "is due");
        for (const auto& deferral : at.deferred) {
            const bool is_node = !deferral.key.starts_with("join:") && deferral.state != checkpoint::Deferral::gone;
            if (is_node) require(deferral.key, "waits for others to end");
        }
        for (const checkpoint::DueTask& task : due) {
            if (task.finished) checkResult(*task.record, require);
        }
        if (!due.empty()) checkChannels(graph, log, at);
        if (found_ && found_->node.empty()) found_->node = as_node;
        Heads heads;
        for (const checkpoint::DueTask& task : due) {
            if (!task.finished && !found_) checkInner(graph, thread_id, ns, at, task, heads);
        }
    }

    template <class Require>
    static void checkResult(const checkpoint::TaskFields& record, const Require& require) {
        constexpr const char* what = "is due after a task that has finished";
        for (const std::string_view to : record.to) require(to, what);
        for (const auto& send : record.sends) require(send.node, what);
    }

    // A run of a finished thread begins with these channels as well, but an input may then be the first to need them.
    void checkChannels(const GraphDescription& graph, const LogName& log, const checkpoint::Folded& at) {
        for (const checkpoint::FoldedChannel& channel : at.channels) {
            if (found_) return;
            const DescribedChannel* const known = graph.findChannel(channel.name);
            if (known == nullptr) {
                if (!lost_channels_) continue;
                found_ = place(log, at.commit.id);
                found_->channel = channel.name;
                found_->why = "channel '" + found_->channel +
                              "' is stored, and the graph has none of that name: its value is kept and not used; say "
                              "what was renamed (formerly) if it is needed";
                continue;
            }
            if (known->kind == "untracked" || isReplaced(at, channel.name, *known)) continue;
            const std::string_view stored = kindOf(channel);
            if (known->holds.empty() || stored.empty() || stored == known->holds) continue;
            found_ = place(log, at.commit.id);
            found_->channel = channel.name;
            found_->why = "channel '" + found_->channel + "' is stored as a " + std::string(stored) +
                          ", and the graph has a " + known->holds +
                          " of that name: give it the stored type again, or another name";
        }
    }

    // A value under a former name is not used where there is one under the current name.
    static bool isReplaced(const checkpoint::Folded& at, std::string_view name, const DescribedChannel& known) {
        return name != known.name && at.find(known.name) != nullptr;
    }

    static IncompatibleThread place(const LogName& log, CheckpointId id) {
        IncompatibleThread thread;
        thread.thread_id = log.thread_id;
        thread.checkpoint_id = id;
        thread.checkpoint_ns = log.checkpoint_ns;
        return thread;
    }

    using Heads = std::optional<std::vector<ListedCheckpoint>>;  // of all logs of the thread, once they are listed

    // Checks the logs of the graph that a due task has begun: one of its own, or those that live with the thread.
    void checkInner(const GraphDescription& graph, const std::string& thread_id, const std::string& outer,
                    const checkpoint::Folded& at, const checkpoint::DueTask& task, Heads& heads) {
        const DescribedNode* const node = graph.findStored(task.name);
        if (node == nullptr || !node->subgraph) return;
        const auto inner = std::ranges::find(graphs_, *node->subgraph, &GraphDescription::fingerprint);
        if (inner == graphs_.end()) return;
        const std::string name = outer.empty() ? task.name : outer + '|' + task.name;
        const TaskId id = engine::makeTaskId({at.commit.id, outer, at.commit.step + 1, task.name, task.path});
        checkLog(*inner, thread_id, name + ':' + id.toString(), {}, node->name);
        if (found_) return;
        if (!heads) heads = saver_.list({.thread_id = thread_id, .heads = true});
        for (const ListedCheckpoint& head : *heads) {
            const std::string& ns = head.checkpoint_ns;
            const bool lives_on = ns == name || (ns.starts_with(name + ":=") && ns.find('|', name.size()) == ns.npos);
            if (lives_on && !found_) checkLog(*inner, thread_id, ns, Outer{outer, at.commit.id}, node->name);
        }
    }

    static IncompatibleThread missing(const LogName& log, CheckpointId id, std::string_view node, const char* what) {
        IncompatibleThread thread = place(log, id);
        thread.node = node;
        thread.why = "node '" + thread.node + "' " + what +
                     ", and the graph has no such node: add it again, say what was renamed (NodeOptions::stored_as), "
                     "or edit the thread's state as another node";
        return thread;
    }

    BaseCheckpointSaver& saver_;
    const std::span<const GraphDescription> graphs_;
    const bool lost_channels_;
    std::optional<IncompatibleThread> found_;
};

}  // namespace

std::vector<IncompatibleThread> checkCompatibility(BaseCheckpointSaver& saver, std::span<const GraphDescription> graphs,
                                                   const CompatibilityOptions& options) {
    if (graphs.empty())
        throw InvalidArgumentError(
            "checkCompatibility: no description is given; give that of the graph, and those of "
            "the graphs inside it (describeGraphs)");
    Checker checker(saver, graphs, options.lost_channels);
    std::vector<IncompatibleThread> found;
    const auto check = [&](const std::string& thread_id, CheckpointId head) {
        if (auto thread = checker.check(thread_id, head)) found.push_back(std::move(*thread));
    };
    if (options.thread_id || !saver.openThreads({.limit = 0})) {
        saver.forEachHead({.thread_id = options.thread_id}, described_page_size, [&](const ListedCheckpoint& head) {
            check(head.thread_id, head.id);
            return true;
        });
        return found;
    }
    OpenThreadsQuery query{.limit = described_page_size};
    for (;;) {
        const auto threads = saver.openThreads(query);
        for (const IndexedThread& thread : *threads) check(thread.place.thread_id, thread.place.since);
        if (threads->size() < query.limit) return found;
        query.after_thread_id = threads->back().place.thread_id;
    }
}

}  // namespace stategraph
