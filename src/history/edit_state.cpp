#include <algorithm>
#include <chrono>

#include <stategraph/error.hpp>

#include "src/commit/ids.hpp"
#include "src/commit/log_writer.hpp"
#include "src/commit/restore.hpp"
#include "src/commit/task_record.hpp"
#include "src/commit/visit.hpp"
#include "src/graph/namespaces.hpp"
#include "src/history/checkpoint_view.hpp"
#include "src/history/history_saver.hpp"
#include "src/superstep/routes.hpp"
#include "src/superstep/task_context.hpp"
#include "src/threads/thread_claim.hpp"
#include "src/value/times.hpp"

// updateState: writes without running, as a commit of their own.
namespace stategraph::engine {
namespace {

using detail::Core;
/// One edit: what a node's task would come to, without its running.
struct StateEdit {
    detail::Writes writes;
    std::optional<std::string> as_node;
    std::vector<Target> go_to;
};

/// One superstep of edits, on the checkpoint that a config names.
class Editor {
public:
    Editor(const Core& core, BaseCheckpointSaver& saver, BaseStore* store, const Config& config, Durability durability)
        : core_(core),
          topology_(core.topology()),
          saver_(saver),
          store_(store),
          config_(config),
          durability_(durability == Durability::sync ? Durability::sync : Durability::async),
          latest_(config.checkpoint_id.empty()),
          state_(core.schema()),
          ids_(core.ids(), core.ids().uniqueBits()) {
        schedule_.reset(topology_);
    }

    /// `shows`: the tasks that were due show what is written in their names as their results.
    Config apply(std::vector<StateEdit>& edits, bool shows) {
        shows_ = shows;
        const Special special = specialOf(edits);
        load();
        if (special == Special::copy) return commitCopy();
        if (special == Special::input) return commitInput(edits.front().writes);
        if (latest_ && loaded_) applyUnfinished();
        if (special == Special::end) return commitEnd();
        resolve(edits);
        return commitEdits(edits);
    }

    /// Ends the thread for good. False: nothing was due.
    bool cancel() {
        load();
        if (!loaded_) return false;
        plan(topology_, schedule_, tasks_);
        if (tasks_.empty()) return false;
        applyUnfinished();
        metadata_ = loaded_->commit.metadata;
        run_word_ = checkpoint::thread_cancelled;
        commitEnd();
        return true;
    }

private:
    LogName log() const { return {config_.thread_id.view(), config_.checkpoint_ns}; }

    void load() {
        auto tuple = latest_ ? findCurrent(saver_, log(), head_)
                             : saver_.getTuple({.log = log(), .checkpoint_id = config_.checkpoint_id});
        if (!tuple) {
            ids_.observe(head_);
            if (config_.checkpoint_id) {
                throw InvalidArgumentError("there is no checkpoint " + config_.checkpoint_id.toString() +
                                               " in thread '" + config_.thread_id.toString() + "'",
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

    // What the unfinished superstep already produced counts first, join progress included.
    void applyUnfinished() {
        const Records records = readRecords(log(), loaded_->commit.id, loaded_->tuple.writes);
        if (const auto* command = findRecord(records, command_path)) {
            detail::Writes writes;
            Routes routes;
            readRecord(*command, writes, routes);
            fold({&writes, 1}, {}, "a Command");
            const Routed routed{no_node, &routes};
            advance(topology_, schedule_, {.consumed = {}, .routed = {&routed, 1}});
        }
        plan(topology_, schedule_, tasks_);
        if (topology_.has_lasting) noteVisits();
        std::vector<PlannedTask> done;
        std::vector<detail::Writes> writes;
        std::vector<Routes> routes;
        for (const PlannedTask& task : tasks_) {
            const auto* record = findRecord(records, pathOf(topology_, task));
            if (record == nullptr || !record->writes) continue;
            done.push_back(task);
            readRecord(*record, writes.emplace_back(), routes.emplace_back());
        }
        if (done.empty()) return;
        fold(writes, done, {});
        std::vector<Routed> routed;
        for (std::size_t i = 0; i < done.size(); ++i) routed.push_back({done[i].node, &routes[i]});
        advance(topology_, schedule_, {.consumed = done, .routed = routed, .is_step = true});
    }

    // What visits have stored by now stays in their logs, as in a run that takes new input.
    void noteVisits() {
        for (const PlannedTask& task : tasks_) {
            const Node& node = topology_.nodes[task.node];
            if (!node.subgraph || !livesWithThread(*node.subgraph->spec.core)) continue;
            const auto key =
                findKey(core_.schema(), node, state_, task.is_send ? &schedule_.sends[task.send] : nullptr);
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

    void readRecord(const checkpoint::TaskFields& record, detail::Writes& writes, Routes& routes) {
        restoreResult(topology_, core_.schema(), record, writes, routes, GoneNodes::skip);
    }

    // Changes that no operation of the commit says: it will hold the whole state.
    void fold(std::span<detail::Writes> writes, const std::vector<PlannedTask>& by, std::string_view writer) {
        WriteSet set;
        for (std::size_t i = 0; i < writes.size(); ++i) {
            set.add(core_.schema(), writes[i],
                    by.empty() ? writer : std::string_view(topology_.nodes[by[i].node].name));
        }
        set.close(core_.schema());
        std::vector<detail::ChannelIndex> ending;
        if (!by.empty()) findEnding(state_, set, ending);
        applyWrites(state_, set, {}, nullptr);
        endChannels(state_, ending);
        whole_ = true;
    }

    // What is no node's edit, and stands alone.
    enum class Special : std::uint8_t { none, end, input, copy };

    Special specialOf(const std::vector<StateEdit>& edits) const {
        Special special = Special::none;
        for (const StateEdit& edit : edits) {
            if (!edit.as_node) continue;
            if (*edit.as_node == END) special = Special::end;
            if (*edit.as_node == INPUT) special = Special::input;
            if (*edit.as_node == COPY) special = Special::copy;
        }
        const bool is_alone = edits.size() == 1 && edits.front().go_to.empty();
        if (special == Special::end && (!is_alone || !edits.front().writes.empty())) {
            throw InvalidUpdateError(
                "as_node END ends what is due, and can neither write nor lead anywhere nor stand beside other edits");
        }
        if (special == Special::copy && (!is_alone || !edits.front().writes.empty())) {
            throw InvalidUpdateError(
                "as_node COPY makes the same checkpoint once more, and can neither write nor lead anywhere nor stand "
                "beside other "
                "edits; edit the copy in a superstep after it");
        }
        if (special == Special::input && (!is_alone || edits.front().writes.empty())) {
            throw InvalidUpdateError(
                "as_node INPUT is the graph's input: it needs values, and can neither lead anywhere nor stand beside "
                "other edits");
        }
        const bool is_inner = !config_.checkpoint_ns.empty();
        if (is_inner && (special == Special::copy || special == Special::input)) {
            throw InvalidUpdateError(
                "as_node " + std::string(special == Special::copy ? "COPY" : "INPUT") +
                " is for the graph itself, and not for the log of a subgraph: leave checkpoint_ns out");
        }
        return special;
    }

    // As which node each edit acts.
    void resolve(std::vector<StateEdit>& edits) {
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

    NodeIndex inferNode() const {
        switch (schedule_.last.kind) {
            case LastRan::Kind::nobody:
                return topology_.start;
            case LastRan::Kind::one:
                return schedule_.last.node;
            case LastRan::Kind::several:
                break;
        }
        throw InvalidUpdateError(
            "it is ambiguous as which node the state is edited: several tasks ran last. Say as_node");
    }

    LogSettings logSettings() const {
        return {.saver = &saver_,
                .thread_id = config_.thread_id.view(),
                .checkpoint_ns = config_.checkpoint_ns,
                .durability = durability_,
                .metadata = metadata_,
                .parents = loaded_ ? std::span<const checkpoint::LoggedParent>(loaded_->commit.parents)
                                   : std::span<const checkpoint::LoggedParent>(),
                .graph = topology_.fingerprint,
                .schema = core_.schema().fingerprint(),
                .executor = &core_.executor()};
    }

    Config commitEdits(std::vector<StateEdit>& edits) {
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

    // The record of the task that was due at the edited checkpoint and that the edit stands for, if there is one: of
    // several of a node, which Sends made, each edit stands for the next.
    void noteResult(const Node& node, detail::Writes& writes, const Routes& routes) {
        const Records records = readRecords(log(), loaded_->commit.id, loaded_->tuple.writes);
        for (const DueTask& due : dueTasks(topology_, loaded_->commit, records, false)) {
            const auto isIt = [&due](const auto& result) { return result.first == due.path; };
            if (due.name != node.stored_name || std::ranges::any_of(results_, isIt)) continue;
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

    // Routers see the state with the edit's own writes.
    void askRouters(const Node& node, const detail::Writes& writes, Routes& routes) {
        if (node.branches.empty()) return;
        State seen(state_);
        detail::Writes copy(writes);
        WriteSet set;
        set.add(core_.schema(), copy, node.name);
        set.close(core_.schema());
        applyWrites(seen, set, {}, nullptr);
        detail::TaskContext context;
        context.edited_node = node.name;
        context.edited_store = store_;
        Runtime runtime(context);
        routeBranches(node, topology_, seen.object(), runtime, routes);
    }

    // Nothing is due any more.
    Config commitEnd() {
        plan(topology_, schedule_, tasks_);
        advance(topology_, schedule_, {.consumed = tasks_, .routed = {}, .is_step = false});
        return commit({});
    }

    // What was due stays due beside START.
    Config commitInput(detail::Writes& writes) {
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

    // The same once more, on what the checkpoint was made from.
    Config commitCopy() {
        if (!loaded_) throw InvalidUpdateError("as_node COPY: the thread has no checkpoint to copy");
        whole_ = true;
        return commit({}, Source::fork);
    }

    // For who looks for unfinished threads: that no run made the checkpoint, or that nothing is to be resumed.
    void noteEdit(LogWriter& writer, CheckpointId id) const {
        if (run_word_.empty() || !config_.checkpoint_ns.empty()) return;
        checkpoint::TaskFields fields;
        fields.node = run_word_;
        std::string record;
        checkpoint::writeTask(id, fields, record);
        writer.putTaskWithCommit(id, std::string(checkpoint::run_path), std::move(record));
    }

    Config commit(OperationLog operations, Source source = Source::update) {
        LogWriter writer(logSettings());
        writer.open(head_, loaded_ ? &*loaded_ : nullptr, core_.schema());
        if (whole_) writer.forceSnapshot();
        if (source == Source::fork) writer.beginBeside(loaded_->commit.parent);
        writer.operations() = std::move(operations);
        plan(topology_, schedule_, tasks_);
        const CheckpointId id = ids_.next();
        if (run_word_.empty() && !tasks_.empty()) run_word_ = checkpoint::run_edited;
        for (auto& [path, record] : results_) writer.putTaskWithCommit(loaded_->commit.id, path, std::move(record));
        noteEdit(writer, id);
        const std::int64_t first_step = source == Source::input ? -1 : 0;
        writer.commit({.id = id,
                       .step = loaded_ ? loaded_->commit.step + 1 : first_step,
                       .source = source,
                       .topology = &topology_,
                       .state = &state_,
                       .schedule = &schedule_,
                       .next = tasks_,
                       .writes = {}});
        writer.wait();
        return {.thread_id = config_.thread_id, .checkpoint_id = id, .checkpoint_ns = config_.checkpoint_ns};
    }

    const Core& core_;
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

// That of the graph of a namespace, or of the nearest one around it that has one.
BaseStore* storeAt(const Core& root, std::string ns) {
    for (;;) {
        if (BaseStore* const store = resolveNamespace(root, ns).options().store.get()) return store;
        if (ns.empty()) return nullptr;
        const std::size_t cut = ns.rfind('|');
        ns.resize(cut == std::string::npos ? 0 : cut);
    }
}

}  // namespace
}  // namespace stategraph::engine

namespace stategraph::detail {

struct Edits::Data {
    TypeKey state;  // what the updates are of
    std::vector<std::vector<engine::StateEdit>> supersteps;
};

Edits::Edits(TypeKey state) : data_(new Data{.state = state, .supersteps = {}}) {}
Edits::~Edits() = default;
void Edits::beginSuperstep() { data_->supersteps.emplace_back(); }
void Edits::add(const Writes& writes, const std::optional<std::string>& as_node, const Targets& go_to) {
    data_->supersteps.back().push_back({.writes = writes, .as_node = as_node, .go_to = {go_to.begin(), go_to.end()}});
}

Config editState(const Core& root, const Config& config, Edits& given, const EditOptions& options) {
    auto& supersteps = given.data().supersteps;
    BaseCheckpointSaver& saver = engine::historySaver(root, config);
    engine::ThreadClaim claim;
    const Core& core = engine::resolveNamespace(root, config.checkpoint_ns);
    if (core.schema().state().type != given.data().state) {
        const std::string whose =
            config.checkpoint_ns.empty() ? "the graph" : "the subgraph '" + std::string(config.checkpoint_ns) + "'";
        throw InvalidUpdateError(
            "the update is of another type of state than that of " + whose + ": give it an Update of its own state",
            {.thread_id = config.thread_id.toString(), .checkpoint_ns = config.checkpoint_ns});
    }
    if (supersteps.empty()) throw InvalidArgumentError("bulkUpdateState was given no supersteps");
    Config at = config;
    try {
        const bool is_bulk = supersteps.size() > 1 || supersteps.front().size() > 1;
        claim.acquire(saver, config.thread_id.view(), options.on_busy, options.busy_timeout);
        for (auto& edits : supersteps) {
            if (edits.empty()) throw InvalidArgumentError("bulkUpdateState was given a superstep without updates");
            at = engine::Editor(core, saver, engine::storeAt(root, config.checkpoint_ns), at, options.durability)
                     .apply(edits, is_bulk);
        }
    } catch (Error& error) {
        error.addContext({.thread_id = config.thread_id.toString(), .checkpoint_ns = config.checkpoint_ns});
        throw;
    }
    return at;
}

namespace {

// Of a thread that no run holds: a record beside its newest checkpoint, without the thread's claim, which a run that
// begins now would find taken. None: somebody has written to the thread meanwhile.
std::optional<bool> noteCancel(BaseCheckpointSaver& saver, const LogName& log, bool sync) {
    CheckpointId head;
    auto tuple = engine::findCurrent(saver, log, head);
    if (!tuple) return false;
    const checkpoint::Folded at = checkpoint::fold(log, std::move(*tuple));
    const engine::Records records = engine::readRecords(log, at.commit.id, at.tuple.writes);
    if (checkpoint::saysCancelled(records) || checkpoint::dueTasks(at.commit, records, true).empty()) return false;
    checkpoint::TaskFields fields;
    fields.node = checkpoint::thread_cancelled;
    std::string record;
    checkpoint::writeTask(at.commit.id, fields, record);
    const WriteRow row{at.commit.id, checkpoint::run_path, record};
    try {
        saver.putWrites(log, head, {&row, 1}, sync);
    } catch (const ConcurrentUpdateError&) {
        return {};
    }
    return true;
}

// By the run that holds the thread, or in its place if none does.
bool storeCancel(BaseCheckpointSaver& saver, const LogName& log, bool sync,
                 std::chrono::steady_clock::time_point until) {
    bool was_noted = false;
    for (;;) {
        // Also after the record has been put: a run that had begun before would not know of it.
        if (const auto of_run = engine::ThreadClaim::cancelHolder(saver, log.thread_id, until))
            return *of_run || was_noted;
        if (was_noted) return true;
        const std::optional<bool> noted = noteCancel(saver, log, sync);
        if (noted == false) return false;
        was_noted = noted.has_value();
    }
}

}  // namespace

bool cancelThread(const Core& core, const ThreadId& thread_id, const EditOptions& options, bool ends_run) {
    const Config config{.thread_id = thread_id, .checkpoint_id = {}, .checkpoint_ns = {}};
    BaseCheckpointSaver& saver = engine::historySaver(core, config);
    const auto until = times::after(std::chrono::steady_clock::now(), options.busy_timeout);
    try {
        if (!ends_run) return storeCancel(saver, {thread_id.view()}, options.durability == Durability::sync, until);
        for (;;) {
            const std::optional<bool> of_run = engine::ThreadClaim::cancelHolder(saver, thread_id.view(), until);
            if (of_run == false) return false;
            const bool was_stored = of_run.has_value();
            engine::ThreadClaim claim;
            try {
                claim.acquire(saver, thread_id.view(), was_stored ? options.on_busy : OnBusy::reject,
                              options.busy_timeout);
            } catch (const ThreadBusyError&) {
                if (was_stored) throw;
                continue;  // a run has begun meanwhile
            }
            return engine::Editor(core, saver, nullptr, config, options.durability).cancel();
        }
    } catch (Error& error) {
        error.addContext({.thread_id = thread_id.toString()});
        throw;
    }
}

}  // namespace stategraph::detail
