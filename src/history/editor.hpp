#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/config.hpp>

#include "checkpoint/fold.hpp"
#include "checkpoint/task_fields.hpp"
#include "src/commit/ids.hpp"
#include "src/commit/log_writer.hpp"
#include "src/graph/core.hpp"
#include "src/history/edit_kind.hpp"
#include "src/superstep/apply.hpp"
#include "src/superstep/schedule.hpp"

namespace stategraph::engine {

/// One superstep of edits on the checkpoint that a config names: their writes become a commit, and no node runs. Used
/// by one thread, for one superstep.
class Editor {
public:
    Editor(const detail::Core& core, BaseCheckpointSaver& saver, BaseStore* store, const Config& config,
           Durability durability);

    /// `shows`: the tasks that were due show what is written in their names as their results.
    Config apply(std::vector<StateEdit>& edits, bool shows);

    /// Ends the thread for good. False: nothing was due.
    bool cancel();

private:
    LogName log() const { return {config_.thread_id.view(), config_.checkpoint_ns}; }

    void load();
    // What the unfinished superstep already produced counts first, join progress included.
    void applyUnfinished();
    // What visits have stored by now stays in their logs, as in a run that takes new input.
    void noteVisits();
    void readRecord(const checkpoint::TaskFields& record, detail::Writes& writes, Routes& routes);
    // Changes that no operation of the commit says: it will hold the whole state.
    void fold(std::span<detail::Writes> writes, const std::vector<PlannedTask>& by, std::string_view writer);
    // As which node each edit acts.
    void resolve(std::vector<StateEdit>& edits);
    NodeIndex inferNode() const;
    LogSettings logSettings() const;
    Config commitEdits(std::vector<StateEdit>& edits);
    // The record of the task that was due at the edited checkpoint and that the edit stands for, if there is one: of
    // several of a node, which Sends made, each edit stands for the next.
    void noteResult(const Node& node, detail::Writes& writes, const Routes& routes);
    // Routers see the state with the edit's own writes.
    void askRouters(const Node& node, const detail::Writes& writes, Routes& routes);
    // Nothing is due any more.
    Config commitEnd();
    // What was due stays due, in addition to START.
    Config commitInput(detail::Writes& writes);
    // A sibling: the same tasks again, on the parent of the checkpoint.
    Config commitCopy();
    // For calls that look for unfinished threads: says that no run created the checkpoint, or that nothing is to be
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
    State state_;
    Schedule schedule_;
    IdSequence ids_;
    CheckpointId head_;
    std::optional<checkpoint::Folded> loaded_;
    std::vector<PlannedTask> tasks_;
    std::vector<NodeIndex> nodes_;
    std::vector<std::pair<std::string, std::string>> results_;  // of tasks: path and record
    std::string_view metadata_;                                 // of the checkpoint that is made: a CBOR map, or empty
    std::string_view run_word_;                                 // how the thread is left; empty: nothing is due
    bool shows_ = false;
    bool whole_ = false;
};

}  // namespace stategraph::engine
