#include "src/history/editor.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <stategraph/error.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/status.hpp>

#include "src/checkpoint/outlook.hpp"
#include "src/commit/finished_tasks.hpp"
#include "src/commit/newest_check.hpp"
#include "src/commit/restore.hpp"
#include "src/commit/task_record.hpp"
#include "src/history/checkpoint_view.hpp"
#include "src/history/close_questions.hpp"
#include "src/history/edit_task_context.hpp"
#include "src/superstep/routes.hpp"

namespace stategraph::engine {

Editor::Editor(const detail::Core& core, IdSource& ids, BaseCheckpointSaver& saver, BaseStore* store,
               const Config& config, Durability durability)
    : core_(core),
      topology_(core.topology()),
      saver_(saver),
      store_(store),
      config_(config),
      durability_(durability == Durability::sync ? Durability::sync : Durability::async),
      latest_(config.checkpoint_id.empty()),
      state_(core.schema()),
      ids_(ids, ids.uniqueBits()) {
    schedule_.reset(topology_);
}

Config Editor::apply(std::vector<StateEdit>& edits, bool shows) {
    shows_ = shows;
    const EditKind kind = kindOf(edits, !config_.checkpoint_ns.empty());
    load();
    if (guard_ != nullptr) checkIsAsGiven();
    if (kind == EditKind::copy) return commitCopy();
    if (kind == EditKind::again) return commit({});
    if (latest_ && loaded_) applyUnfinished();
    if (kind == EditKind::input) return commitInput(edits.front().writes);
    if (kind == EditKind::end) {
        if (loaded_) metadata_ = loaded_->commit.metadata;  // the thread ends as what it was
        return commitEnd();
    }
    resolve(edits);
    return commitEdits(edits);
}

void Editor::checkIsAsGiven() const {
    const CheckpointId newest = loaded_ ? loaded_->commit.id : CheckpointId();
    if (guard_->only_at) checkNewest(guard_->only_at, newest);
    if (guard_->only_new && newest) refuseKnown(newest, "or leave out only_new to edit it");
}

bool Editor::cancel() {
    load();
    if (!loaded_) return false;
    plan(topology_, schedule_, tasks_);
    if (tasks_.empty()) return false;
    try {
        applyUnfinished();
    } catch (const InvalidUpdateError&) {
        // No state can hold the results of its finished tasks, and nothing of them was applied. New input drops such
        // results, too (Run::takeFinished).
    }
    metadata_ = loaded_->commit.metadata;
    run_word_ = checkpoint::thread_cancelled;
    commitEnd();
    return true;
}

// The logs are read one after the other. If the graph around the log has moved meanwhile, what was read may be older
// than the head, and would replace what others have added since.
std::optional<CheckpointTuple> Editor::readCurrent() {
    for (;;) {
        auto tuple = findCurrent(saver_, log(), head_);
        if (!around_) return tuple;
        const auto before = std::exchange(around_, findAround(saver_, log()));
        if (around_ == before) return tuple;
    }
}

void Editor::load() {
    around_ = findAround(saver_, log());
    auto tuple = latest_ ? readCurrent() : saver_.getTuple({.log = log(), .checkpoint_id = config_.checkpoint_id});
    if (!tuple) {
        ids_.observe(head_);
        if (config_.checkpoint_id) {
            throw InvalidArgumentError("there is no checkpoint " + config_.checkpoint_id.toString() + " in thread '" +
                                           config_.thread_id.toString() + "'",
                                       {.checkpoint_id = config_.checkpoint_id.toString()});
        }
        return;
    }
    head_ = tuple->head;
    ids_.observe(head_);
    loaded_ = checkpoint::fold(log(), std::move(*tuple));
    restoreState(*loaded_, state_);
    whole_ = restoreSchedule(topology_, core_.schema(), *loaded_, schedule_,
                             GoneNodes::skip);  // an edit drops what is due
    if (topology_.has_lasting && !schedule_.knows_all_visits && latest_) {
        completeVisits(saver_, log(), {}, schedule_, [](CheckpointId) { return true; });
    }
}

void Editor::applyUnfinished() {
    const Records records = readRecords(log(), loaded_->commit.id, loaded_->tuple.writes);
    if (const auto* command = findRecord(records, command_path)) {
        detail::Writes writes;
        Routes routes;
        restoreResult(topology_, core_.schema(), *command, writes, routes, GoneNodes::skip);
        applyCommand(writes, state_);
        whole_ = true;
        const Routed routed{no_node, &routes};
        advance(topology_, schedule_, {.consumed = {}, .routed = {&routed, 1}});
    }
    plan(topology_, schedule_, tasks_);
    noteRead();
    if (topology_.has_lasting) noteVisits();
    if (applyFinished(topology_, records, tasks_, state_, schedule_)) whole_ = true;
}

void Editor::noteRead() {
    if (tasks_.empty()) return;
    std::map<std::string_view, std::string_view> rows;
    for (const StoredWrite& row : loaded_->tuple.writes) rows.emplace(row.path, row.bytes);
    const auto note = [&](std::string path) {
        const auto row = rows.find(path);
        read_.emplace(std::move(path), row != rows.end() ? row->second : std::string_view());
    };
    for (const PlannedTask& task : tasks_) note(pathOf(topology_, task));
    note(std::string(command_path));
}

void Editor::noteVisits() {
    for (const PlannedTask& task : tasks_) {
        const Node& node = topology_.nodes[task.node];
        if (!node.subgraph || !livesWithThread(*node.subgraph->spec.core)) continue;
        const auto key = findKey(core_.schema(), node, state_, task.is_send ? &schedule_.sends[task.send] : nullptr);
        if (!key) continue;
        const std::string ns = innerNamespace(config_.checkpoint_ns, node, {}, *key);
        const CheckpointId id = loaded_->commit.id;
        CheckpointId head;
        if (const auto visit =
                findVisit(saver_, {config_.thread_id.view(), ns}, {config_.checkpoint_ns, id, id}, head)) {
            schedule_.setVisit(lastingLog(node, *key), visit->id);
        }
    }
}

void Editor::resolve(std::vector<StateEdit>& edits) {
    for (StateEdit& edit : edits) {
        if (!edit.as_node && edits.size() > 1) {
            throw InvalidUpdateError("several edits in one superstep: each must say as_node");
        }
        const NodeIndex node = edit.as_node ? topology_.find(*edit.as_node) : inferNode();
        if (node == no_node) {
            throw InvalidUpdateError("as_node is '" + *edit.as_node + "', and the graph has no such node",
                                     {.node = *edit.as_node});
        }
        nodes_.push_back(node);
        core_.schema().check(edit.writes);
    }
}

NodeIndex Editor::inferNode() const {
    switch (schedule_.last.kind) {
        case LastRan::Kind::nobody:
            return topology_.start;
        case LastRan::Kind::one:
            return schedule_.last.node;
        case LastRan::Kind::several:
            break;
    }
    throw InvalidUpdateError("it is ambiguous as which node the state is edited: several tasks ran last. Say as_node");
}

LogSettings Editor::logSettings() const {
    return {.saver = &saver_,
            .thread_id = config_.thread_id.view(),
            .checkpoint_ns = config_.checkpoint_ns,
            .durability = durability_,
            .metadata = metadata_,
            .parents = loaded_ ? std::span<const checkpoint::LoggedParent>(loaded_->commit.parents)
                               : std::span<const checkpoint::LoggedParent>(),
            .graph = topology_.fingerprint,
            .schema = core_.schema().fingerprint(),
            .core = &core_,
            .executor = &core_.executor()};
}

Config Editor::commitEdits(std::vector<StateEdit>& edits) {
    std::vector<Routes> routes(edits.size());
    std::vector<Routed> routed;
    WriteSet set;
    for (std::size_t i = 0; i < edits.size(); ++i) {
        const Node& node = topology_.nodes[nodes_[i]];
        for (const Target& target : edits[i].go_to) resolveTarget(topology_, target, node.name, routes[i]);
        askRouters(node, edits[i].writes, routes[i]);
        if (shows_ && loaded_) noteResult(node, edits[i].writes, routes[i]);
        set.add(core_.schema(), edits[i].writes, node.name);
        routed.push_back({nodes_[i], &routes[i]});
    }
    set.close(core_.schema());
    std::vector<detail::ChannelIndex> ending;
    findEnding(state_, set, ending);
    OperationLog operations;
    applyWrites(state_, set, ending, whole_ ? nullptr : &operations);
    endChannels(state_, ending);
    advance(topology_, schedule_, {.consumed = {}, .routed = routed, .is_step = true});
    return commit(std::move(operations));
}

// Returns whether a run has ended the superstep of the edited checkpoint, whose results are then its tasks'.
bool Editor::hasEndedSuperstep() const {
    const auto& next = loaded_->tuple.next;
    if (!next) return false;
    const checkpoint::CommitFields commit =
        checkpoint::readCommit({log().thread_id, log().checkpoint_ns, next->id}, next->bytes, true);
    return commit.parent == loaded_->commit.id && commit.source == Source::loop;
}

void Editor::noteResult(const Node& node, detail::Writes& writes, const Routes& routes) {
    if (hasEndedSuperstep()) return;
    const Records records = readRecords(log(), loaded_->commit.id, loaded_->tuple.writes);
    for (const DueTask& due : dueTasks(topology_, loaded_->commit, records, false)) {
        const auto isIt = [&due](const auto& result) { return result.first == due.path; };
        if (due.finished || due.name != node.stored_name || std::ranges::any_of(results_, isIt)) continue;
        checkpoint::TaskFields fields = due.record != nullptr ? *due.record : checkpoint::TaskFields();
        fields.node = node.stored_name;
        fields.to.clear();
        fields.sends.clear();
        const std::string list = encodeWriteList(core_.schema(), writes);
        fields.writes = list;
        const std::vector<std::string> payloads = addRoutes(topology_, routes, fields);
        std::string record;
        checkpoint::writeTask(loaded_->commit.id, fields, record);
        results_.emplace_back(due.path, std::move(record));
        return;
    }
}

void Editor::askRouters(const Node& node, const detail::Writes& writes, Routes& routes) {
    if (node.branches.empty()) return;
    State seen(state_);
    detail::Writes copy(writes);
    WriteSet set;
    set.add(core_.schema(), copy, node.name);
    set.close(core_.schema());
    applyWrites(seen, set, {}, nullptr);
    EditTaskContext context(core_, node.name, store_);
    Runtime runtime(context);
    routeBranches(node, topology_, seen.object(), runtime, routes);
}

Config Editor::commitEnd() {
    plan(topology_, schedule_, tasks_);
    advance(topology_, schedule_, {.consumed = tasks_, .routed = {}, .is_step = false});
    return commit({});
}

Config Editor::commitInput(detail::Writes& writes) {
    core_.schema().check(writes);
    for (const detail::Op& op : writes) {
        if (core_.accepts(op.channel)) continue;
        const std::string& name = core_.schema().channel(op.channel).name;
        throw InvalidUpdateError("channel '" + name + "' is not among those that the graph takes as input",
                                 {.channel = name});
    }
    advance(topology_, schedule_, {.consumed = {}, .routed = {}, .is_step = false, .input = &writes});
    return commit({}, Source::input);
}

Config Editor::commitCopy() {
    if (!loaded_) throw InvalidUpdateError("as_node COPY: the thread has no checkpoint to copy");
    whole_ = true;
    return commit({}, Source::fork);
}

void Editor::expectRecords(LogWriter& writer) const {
    for (const auto& [path, row] : read_) writer.compareWithCommit(loaded_->commit.id, path, row);
}

void Editor::noteEdit(LogWriter& writer, CheckpointId id) const {
    if (run_word_.empty() || !config_.checkpoint_ns.empty()) return;
    checkpoint::TaskFields fields;
    fields.node = run_word_;
    std::string record;
    checkpoint::writeTask(id, fields, record);
    writer.putTaskWithCommit({id, checkpoint::run_path, record, ""}, checkpoint::outlookOfRun({.node = run_word_}));
}

Config Editor::commit(OperationLog operations, Source source) {
    LogSettings settings = logSettings();
    if (around_) {
        settings.around = around_->id;
        settings.edited_at = around_->root;
    }
    LogWriter writer(settings);
    writer.open(head_, loaded_ ? &*loaded_ : nullptr, core_.schema());
    if (whole_) writer.forceSnapshot();
    if (source == Source::fork) writer.beginBeside(loaded_->commit.parent);
    writer.operations() = std::move(operations);
    plan(topology_, schedule_, tasks_);
    const CheckpointId id = ids_.next();
    const std::int64_t first_step = source == Source::input ? -1 : 0;
    const std::int64_t step = loaded_ ? loaded_->commit.step + 1 : first_step;
    if (source == Source::input) prepareInput(core_, schedule_, log(), id, step);
    if (run_word_.empty() && !tasks_.empty()) run_word_ = toString(Status::edited);
    for (const auto& [path, record] : results_) {
        const auto before = std::ranges::find(loaded_->tuple.writes, path, &StoredWrite::path);
        writer.putTaskWithCommit({loaded_->commit.id, path, record,
                                  before != loaded_->tuple.writes.end() ? std::string_view(before->bytes) : ""});
        read_.erase(path);  // it is compared where it is written
    }
    expectRecords(writer);
    noteEdit(writer, id);
    if (loaded_) closeQuestions(saver_, log(), loaded_->commit, durability_ == Durability::sync);
    writer.commit({.id = id,
                   .step = step,
                   .source = source,
                   .topology = &topology_,
                   .state = &state_,
                   .schedule = &schedule_,
                   .next = tasks_,
                   .writes = {}});
    writer.wait();
    return {.thread_id = config_.thread_id, .checkpoint_id = id, .checkpoint_ns = config_.checkpoint_ns};
}

}  // namespace stategraph::engine
