#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/config.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/task_fields.hpp"
#include "src/commit/ids.hpp"
#include "src/commit/log_writer.hpp"
#include "src/commit/visit.hpp"
#include "src/graph/core.hpp"
#include "src/history/edit_kind.hpp"
#include "src/superstep/apply.hpp"
#include "src/superstep/schedule.hpp"

namespace stategraph::engine {

/// Makes one superstep of edits on the checkpoint that a config names: their writes become a commit, and no node runs.
/// An editor is used by one thread, for one superstep.
class Editor {
public:
    /// `ids` is the root graph's source, also for an edit of a subgraph's log.
    Editor(const detail::Core& core, IdSource& ids, BaseCheckpointSaver& saver, BaseStore* store, const Config& config,
           Durability durability);

    /// Refuses the edit if the log is not in the state that the options name (only_new, only_at).
    void guard(const UpdateOptions& options) noexcept { guard_ = &options; }

    /// With `shows`, the tasks that were due show as their results what is written in their names.
    Config apply(std::vector<StateEdit>& edits, bool shows);

    /// Ends the thread for good. Returns false if nothing was due.
    bool cancel();

private:
    LogName log() const { return {config_.thread_id.view(), config_.checkpoint_ns}; }

    void load();
    std::optional<CheckpointTuple> readCurrent();
    void checkIsAsGiven() const;
    // Applies what the unfinished superstep has already produced, including progress of joins, before the edits.
    void applyUnfinished();
    // Notes what visits have stored so far. It stays in their logs, as in a run that takes new input.
    void noteVisits();
    // Notes what is stored of the tasks.
    void noteRead();
    // Determines as which node each edit acts.
    void resolve(std::vector<StateEdit>& edits);
    NodeIndex inferNode() const;
    LogSettings logSettings() const;
    Config commitEdits(std::vector<StateEdit>& edits);
    bool hasEndedSuperstep() const;
    // Notes the record of the due task of the edited checkpoint that the edit replaces, if there is one. If Sends
    // created several tasks of a node, each edit replaces the next of them.
    void noteResult(const Node& node, detail::Writes& writes, const Routes& routes);
    // Calls the routers, which see the state with the edit's own writes.
    void askRouters(const Node& node, const detail::Writes& writes, Routes& routes);
    // Commits a checkpoint at which nothing is due.
    Config commitEnd();
    // Commits a checkpoint at which START is due in addition to what was due.
    Config commitInput(detail::Writes& writes);
    // Commits a sibling: the same tasks again, on the parent of the checkpoint.
    Config commitCopy();
    // Has the commit refused if a task of the superstep that waits stores its record before, or somebody answers it,
    // which would be lost.
    void expectRecords(LogWriter& writer) const;
    // Stores for calls that look for unfinished threads that no run created the checkpoint, or that nothing is to be
    // resumed.
    void noteEdit(LogWriter& writer, CheckpointId id) const;
    Config commit(OperationLog operations, Source source = Source::update);
    const detail::Core& core_;
    const Topology& topology_;
    BaseCheckpointSaver& saver_;
    BaseStore* store_;  // for routers
    Config config_;
    Durability durability_;
    bool latest_;
    std::optional<Around> around_ = {};  // of a log that lives with the thread
    State state_;
    Schedule schedule_;
    IdSequence ids_;
    CheckpointId head_;
    std::optional<checkpoint::Folded> loaded_;
    std::vector<PlannedTask> tasks_;
    std::vector<NodeIndex> nodes_;
    std::vector<std::pair<std::string, std::string>> results_;  // path and record of each task
    // Path and row, as they were read, of the tasks of the superstep that waits, and of what a Command gave it.
    std::map<std::string, std::string_view, std::less<>> read_;
    std::string_view metadata_;  // of the new checkpoint: a CBOR map, or empty
    std::string_view run_word_;  // how the thread is left; empty if nothing is due
    const UpdateOptions* guard_ = nullptr;
    bool shows_ = false;
    bool whole_ = false;
};

}  // namespace stategraph::engine
