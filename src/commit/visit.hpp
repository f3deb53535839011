#pragma once
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "src/commit/restore.hpp"
#include "src/superstep/apply.hpp"

// What a task's visit of a subgraph begins with, and its log. Used by runs, by the check whether a run can resume, and
// by readers of state.
namespace stategraph::engine {

/// The newest checkpoint, below `before` if given, of each log of a subgraph right below a log that lives with the
/// thread.
std::vector<ListedCheckpoint> listHeads(BaseCheckpointSaver& saver, const LogName& outer, CheckpointId before);
CheckpointId rootOf(const ListedCheckpoint& listed);

/// What a subgraph's visit begins with: `input`, and the log of the subgraph that it continues (`key`; empty if there
/// is one log for all visits).
struct Visit {
    detail::Writes input;
    std::string key;
    std::exception_ptr failure;  // an error of the user's functions, or of the key; then there is nothing else
    bool is_doubled = false;     // another task of the superstep has the same key
};

/// Thrown instead of the exception of a user's function.
struct VisitFailure {
    std::string what;
    std::exception_ptr original;
};

/// Creates the input of a subgraph from the state around it, or from the payload of the Send that visits it (null if no
/// Send does). Errors: VisitFailure, and those of `restorePayload`.
void makeInput(const detail::Schema& outer, const Node& node, const State& state, const PendingSend* send,
               detail::Writes& input);
/// Creates the input and the key. Errors: the same, and InvalidUpdateError for an invalid key.
void makeVisit(const detail::Schema& outer, const Node& node, const State& state, const PendingSend* send,
               Visit& visit);

/// Returns only the key, for callers that look at a visit without beginning it. The key is empty if the subgraph's logs
/// have none. Returns none if the visit would fail.
std::optional<std::string> findKey(const detail::Schema& outer, const Node& node, const State& state,
                                   const PendingSend* send);

/// Returns what the namespace of a log that lives with the thread adds to that of the log around it: the node's stored
/// name, and the key.
std::string lastingLog(const Node& node, std::string_view key);

/// The run, or the stored checkpoint, from which a subgraph is visited.
struct VisitFrom {
    std::string_view ns;      // the namespace of its log
    CheckpointId checkpoint;  // the checkpoint whose task the visit is
    // The newest stored checkpoint of its branch; it differs from `checkpoint` only with durability `exit`.
    CheckpointId stored;
};

/// Returns the newest checkpoint of a log that the visit from there created before it was interrupted or failed.
/// Returns none if the visit has not begun. `head` receives the newest checkpoint of the log, none if the log is empty.
/// Cost: one read, and more if other branches continued after that visit.
std::optional<CheckpointTuple> findVisit(BaseCheckpointSaver& saver, const LogName& log, const VisitFrom& from,
                                         CheckpointId& head);

/// Returns the checkpoint from which a new visit of a log that lives with the thread continues: where the previous
/// visit on this branch left the log (`last`; none if there was no visit), or what edits of the log have changed it to.
/// Returns none if the visit begins with a new state. Cost: one read; two and a listing if the log has since continued
/// in other branches.
std::optional<CheckpointTuple> findVisitStart(BaseCheckpointSaver& saver, const LogName& log, const VisitFrom& from,
                                              CheckpointId last, CheckpointId& head);

/// Returns where a thread is in a log. That is the log's newest checkpoint or, in a log that lives with the thread, a
/// checkpoint on the thread's branch: the one of the current visit, or the one from which the next visit continues.
/// Returns none if there is no such checkpoint. Cost: one read more for each graph around it.
std::optional<CheckpointTuple> findCurrent(BaseCheckpointSaver& saver, const LogName& log, CheckpointId& head);
/// Does the same from a checkpoint of the log around it. `name` is what the log's namespace adds to the outer one.
std::optional<CheckpointTuple> findCurrent(BaseCheckpointSaver& saver, const LogName& outer,
                                           const checkpoint::Folded& at, std::string_view name, CheckpointId& head);
/// Where a thread is in the log around one that lives with the thread, and in its own log. An edit that is made now
/// belongs there. An id is empty if the thread has no checkpoint there.
struct Around {
    CheckpointId id;
    CheckpointId root;
    friend bool operator==(const Around&, const Around&) = default;
};
/// Returns none if the log does not live with the thread.
std::optional<Around> findAround(BaseCheckpointSaver& saver, const LogName& log);

/// Completes the visits of a checkpoint that an earlier version of the library stored, which does not say where the
/// logs of its subgraphs were. It takes the newest checkpoint of each log, below `bound` if given. `counts(root)`
/// returns whether that visit's root checkpoint was stored.
template <class Counts>
void completeVisits(BaseCheckpointSaver& saver, const LogName& log, CheckpointId bound, Schedule& schedule,
                    Counts counts) {
    for (ListedCheckpoint& each : listHeads(saver, log, bound)) {
        CheckpointId at = each.id;
        CheckpointId root = rootOf(each);
        const std::string name =
            each.checkpoint_ns.substr(log.checkpoint_ns.empty() ? 0 : log.checkpoint_ns.size() + 1);
        while (at && !counts(root)) {
            const auto tuple =
                saver.getTuple({.log = {log.thread_id, each.checkpoint_ns}, .checkpoint_id = {}, .before = at});
            at = tuple ? tuple->id : CheckpointId();
            if (tuple) root = readLinks({log.thread_id, each.checkpoint_ns, at}, tuple->commits.back().bytes).root;
        }
        if (at) schedule.setVisit(name, at);
    }
    schedule.tellAllVisits();
}

/// Returns the namespace of a visit's log. To that of the log around it, it adds the node's stored name and the key or,
/// if the log does not live with the thread, the task.
std::string innerNamespace(std::string_view outer, const Node& node, TaskId task, std::string_view key);
/// Returns the namespace of the log of a graph that a node calls. To that of the log around it, it adds the node's
/// stored name, the caller (the node's task, or the name of its error handler) and the call's key.
std::string calledNamespace(std::string_view outer, const Node& node, TaskId caller, std::string_view key);

}  // namespace stategraph::engine
