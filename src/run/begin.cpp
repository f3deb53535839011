#include <algorithm>
#include <set>

#include <stategraph/error.hpp>

#include "src/commit/changed_records.hpp"
#include "src/commit/finished_tasks.hpp"
#include "src/commit/newest_check.hpp"
#include "src/commit/open_questions.hpp"
#include "src/commit/resume_check.hpp"
#include "src/commit/task_record.hpp"
#include "src/commit/visit.hpp"
#include "src/run/execution.hpp"
#include "src/run/joined_writes.hpp"
#include "src/run/run.hpp"

// Begins a run: with input, by resuming, at an earlier checkpoint, or with a Command.
namespace stategraph::engine {
namespace {

using detail::RunInput;

}  // namespace

Run::Run(const detail::Core& core, RunShared& shared, const ParentLink* link, void* place)
    : env_(core, shared, link, place), breakpoints_(core, *shared.config, link == nullptr) {
    if (link == nullptr) root_.emplace(env_, start_);
}

RunBreakpoints::RunBreakpoints(const detail::Core& core, const RunConfig& config, bool is_root)
    : before_(&core.before()), after_(&core.after()), any_before_(core.before().any()), any_after_(core.after().any()) {
    if (!is_root || !(config.interrupt_before.isGiven() || config.interrupt_after.isGiven())) return;
    overrides_ = std::make_unique<Overrides>();
    if (config.interrupt_before.isGiven()) {
        overrides_->before = Breakpoints(core.topology(), config.interrupt_before.names());
        before_ = &overrides_->before;
    }
    if (config.interrupt_after.isGiven()) {
        overrides_->after = Breakpoints(core.topology(), config.interrupt_after.names());
        after_ = &overrides_->after;
    }
    any_before_ = before_->any();
    any_after_ = after_->any();
}

// A run that still has to report its end here is one whose end could not be stored.
Run::~Run() {
    if (env_.observation.isOpen())
        env_.observation.runEnds(Status::failed, env_.limits.begun(), "its end could not be stored");
}

bool Run::enter() {
    if (env_.observation) observeStart();
    Start& start = start_.emplace();
    if (root_) return hasSaver() || !env_.shared.config->checkpoint_ns.empty();
    start.stop = env_.link->stop;
    return false;
}

void Run::takeTurn(const RunInput& input) {
    if (hasSaver()) root_->claimThread();
    if (!env_.shared.config->checkpoint_ns.empty()) planTravels(input);
}

// New input drops what is due, so it does not matter whether that still exists in the graph.
GoneNodes Run::ofGoneNodes(const RunInput& input) const noexcept {
    bool drops = input.kind == RunInput::Kind::update;
    if (env_.link != nullptr)
        drops = start_->stop == nullptr && (!env_.link->start.resuming || env_.link->start.replaying);
    return drops ? GoneNodes::skip : GoneNodes::refuse;
}

void Run::start(RunInput&& input) {
    Start& start = *start_;
    const GoneNodes gone = ofGoneNodes(input);
    load(wanted(), gone);
    if (root_) {
        const RunConfig& config = *env_.shared.config;
        if (config.only_new || config.only_at || env_.shared.check != nullptr) checkIsAsGiven(input);
        if (env_.teller.any()) root_->tellBegin();
    }
    if (start.travels() && input.has_answers)
        start.kind = env_.place.checkpoint == env_.place.head_at_begin ? Start::Kind::resume : Start::Kind::rerun;
    const bool travels = start.travels();
    if (travels) {
        // A bound for the logs of graphs inside: they are used as they were when this checkpoint was created.
        start.inside.bound =
            wasEdited() && start.from->commit.parent ? start.from->commit.parent : env_.place.checkpoint;
    }
    completeVisits();
    if (!start.records.empty()) takeEarlierCommands(gone);
    if (root_ && start.from && gone == GoneNodes::refuse) {
        if (!wanted()) checkNotCancelled();
        checkStored(input);
    }
    start.is_behind_gates = mayPassGates(wanted());
    const bool resuming = beginWith(input);
    if (resuming) {
        plan(topology(), env_.schedule, env_.plan);
        if (mustFork()) commit(Source::fork);
        if (root_) root_->storeGoingOn();
        env_.teller.values();
    }
    if (env_.link != nullptr && start.stop == nullptr) {
        start.inside = env_.link->start;
    } else if (start.kind != Start::Kind::command) {
        start.inside.resuming = resuming;
        start.inside.replaying = travels;
    }
}

// Returns whether the breakpoints before the superstep that waits do not stop the run: the caller names the checkpoint,
// or an edit or a fork made it, a run has stopped at it (the log says so), or some of its tasks have begun.
bool Run::mayPassGates(CheckpointId wanted) const {
    if (!start_->from) return false;
    if (wanted || wasEdited() || env_.shared.gates.isPassed(env_.place.checkpoint)) return true;
    const auto isOfTask = [](const auto& stored) {
        return stored.first != checkpoint::run_path && stored.first != command_path;
    };
    return (root_ && env_.shared.effects.any()) || std::ranges::any_of(start_->records, isOfTask);
}

// Returns whether the run stores a fork of the checkpoint at which it begins. An edit or a fork that is the newest
// checkpoint has no results that the run would replace, so none is needed. But if a run that began inside a subgraph
// asks, the thread takes the answers. Each graph then resumes from the newest checkpoint of its visit, which must be
// the one at which this run began.
bool Run::mustFork() const {
    const Start& start = *start_;
    if (!start.travels()) return false;
    const bool is_newest = env_.place.checkpoint == env_.place.head_at_begin;
    if (!wasEdited() || start.isElsewhere(env_.place.ns) || !is_newest) return true;
    if (start.stop == nullptr || !env_.isPerThread()) return false;
    const Place& outer = env_.link->env->place;
    return !isOfVisit(start.from->commit, outer.ns, outer.checkpoint);
}

// Takes what earlier Commands wrote to the pending superstep.
void Run::takeEarlierCommands(GoneNodes gone) {
    for (const auto& [path, record] : start_->records) {
        if (path != command_path) continue;
        detail::Writes writes;
        Routes routes;
        restoreResult(topology(), core().schema(), record, writes, routes, gone);
        applyOutside(writes, routes, nullptr);
        env_.log.forceSnapshot();
    }
}

bool Run::beginWith(RunInput& input) {
    if (input.kind == RunInput::Kind::command) return beginCommand(input);
    const bool goes_on = env_.link != nullptr ? start_->goesOn() : input.kind == RunInput::Kind::resume;
    if (!goes_on) {
        beginInput(input.writes);
        return false;
    }
    if (!start_->from) {
        throw EmptyInputError("there is nothing to resume: the thread has no checkpoint yet; give the run an input");
    }
    return true;
}

// Refuses what this graph cannot resume, including the logs of subgraphs, before anything is written.
void Run::checkStored(const RunInput& input) const {
    const bool goes_on = input.kind != RunInput::Kind::command || input.has_answers || input.go_to.empty();
    checkResumption({.core = core(),
                     .saver = *env_.shared.saver,
                     .log = env_.place.log(),
                     .checkpoint_id = env_.place.checkpoint,
                     .step = env_.place.step,
                     .state = env_.state.values,
                     .schedule = env_.schedule,
                     .records = start_->records,
                     .reruns = start_->reruns() || !goes_on,
                     .inner_afresh = start_->travels() || !goes_on,
                     .bound = start_->inside.bound});
}

// Refuses a thread that is not in the state that the caller names.
void Run::checkIsAsGiven(const RunInput& input) const {
    if (env_.shared.check != nullptr) env_.shared.check->check();
    const RunConfig& config = *env_.shared.config;
    if (config.only_at) checkNewest(config.only_at, start_->from ? env_.place.checkpoint : CheckpointId());
    if (!start_->from || !config.only_new) return;
    if (input.kind == RunInput::Kind::resume || input.has_answers) return;
    refuseKnown(env_.place.checkpoint, "continue it (RESUME), or leave out only_new to give it a new input");
}

// A run whose config names a checkpoint gets it, independent of the state of the thread.
void Run::checkNotCancelled() const {
    if (!checkpoint::saysCancelled(start_->records)) return;
    throw InvalidArgumentError(
        "the thread was cancelled (cancelThread), so there is nothing to resume; give the run a new input, or name the "
        "checkpoint_id that it is to resume from",
        {.thread_id = env_.shared.config->thread_id.toString(), .checkpoint_id = env_.place.checkpoint.toString()});
}

void Run::beginInput(detail::Writes& writes) {
    core().schema().check(writes);
    for (const detail::Op& op : writes) {
        if (env_.link != nullptr || core().accepts(op.channel)) continue;
        const std::string& name = core().schema().channel(op.channel).name;
        throw InvalidUpdateError("channel '" + name + "' is not among those that the graph takes as input",
                                 {.channel = name});
    }
    WriteSet& dropped = env_.memory->superstep.writes;
    std::vector<detail::ChannelIndex>& ending = env_.memory->superstep.ending;
    env_.plan.clear();
    bool abandons = false;
    if (start_->from) {
        plan(topology(), env_.schedule, env_.plan);
        abandons = !env_.plan.empty();
        if (topology().has_lasting && !start_->reruns()) noteAbandonedVisits();
        start_->abandons = abandons;
        if (abandons) takeFinished();
        dropped.clear();
        dropped.close(core().schema());
        env_.log.noteChanges(env_.state.values, dropped, abandons);
        ending.clear();
        if (abandons) findEnding(env_.state.values, dropped, ending);
        applyWrites(env_.state.values, dropped, ending, env_.log.logsOperations() ? &env_.log.operations() : nullptr);
        endChannels(env_.state.values, ending);
    }
    advance(topology(), env_.schedule, {.consumed = env_.plan, .routed = {}, .is_step = abandons, .input = &writes});
    start_->kind = Start::Kind::input;
    start_->is_behind_gates = false;
    commit(Source::input);
}

// Takes the results of the pending superstep's tasks that have finished, before something else follows than its end. A
// run from a named checkpoint begins as that was stored.
void Run::takeFinished() {
    if (!start_->from || start_->reruns()) return;
    expectRecords();
    try {
        if (!applyFinished(topology(), start_->records, env_.plan, env_.state.values, env_.schedule)) return;
    } catch (const InvalidUpdateError&) {
        return;  // no state can hold them, which the run reported that executed the last of them
    }
    env_.log.forceSnapshot();
    plan(topology(), env_.schedule, env_.plan);
}

// Has the next commit refused if a task of the pending superstep stores its record before, or somebody answers it: that
// would be lost.
void Run::expectRecords() {
    if (env_.plan.empty()) return;
    const auto expect = [this](std::string_view path) {
        env_.log.compareWithCommit(start_->from->commit.id, path, start_->stored(path));
    };
    for (const PlannedTask& task : env_.plan) expect(pathOf(topology(), task));
    expect(command_path);
}

// Applies writes that come from outside a superstep: they consume nothing, and end nothing.
void Run::applyOutside(detail::Writes& writes, Routes& routes, OperationLog* log) {
    WriteSet& set = env_.memory->superstep.writes;
    set.clear();
    set.add(core().schema(), writes, "a Command");
    set.close(core().schema());
    env_.log.noteChanges(env_.state.values, set, false);
    applyWrites(env_.state.values, set, {}, log);
    const Routed routed{no_node, &routes};
    advance(topology(), env_.schedule, {.consumed = {}, .routed = {&routed, 1}});
}

void Run::takeAnswers(const RunInput& input) {
    if (!env_.log.hasSaver())
        throw MissingCheckpointerError("a resume value needs a graph that was compiled with a checkpointer");
    const GivenAnswers questions(*env_.shared.saver, env_.place.log(), start_->records,
                                 [this](std::string_view stored) { return std::string(topology().shownName(stored)); });
    std::vector<Answer> answers = input.answers;
    if (input.answer) answers.emplace_back(questions.only().asked.id, *input.answer);
    const std::vector<const OpenQuestion*> matched = questions.match(answers);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const Interrupt& asked = matched[i]->asked;
        core().askedQuestions().check({env_.shared.config->thread_id.toString(), asked.id, asked.index},
                                      answers[i].value);
    }
    std::set<std::string_view> touched;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const Interrupt& asked = matched[i]->asked;
        {
            const detail::LockGuard lock(env_.shared.answers_mutex);
            env_.shared.new_answers.emplace_back(asked.id, asked.index);
        }
        start_->answers.push_back(answers[i].value);
        matched[i]->record->answers.push_back({asked.id, asked.index, start_->answers.back().bytes()});
        touched.insert(matched[i]->path);
    }
    putAnswers(touched);
}

// All answers are stored in one write before anything runs with them, and only the first caller that answers succeeds.
void Run::putAnswers(const std::set<std::string_view>& touched) {
    const ChangedRecords changed(start_->from->tuple, start_->records, touched);
    env_.log.putAnswers(changed.rows());
    for (const WriteRow& row : changed.rows()) start_->written.insert_or_assign(std::string(row.path), row.bytes);
}

bool Run::beginCommand(RunInput& input) {
    const bool answers = input.has_answers;
    if (input.to_parent)
        throw InvalidUpdateError("a Command given to a run cannot address a parent graph: there is none");
    if (!answers && input.writes.empty() && input.go_to.empty()) {
        throw EmptyInputError("the Command has neither resume nor update nor go_to: there is nothing to do");
    }
    core().schema().check(input.writes);
    Routes routes;
    for (const Target& target : input.go_to) resolveTarget(topology(), target, "a Command", routes);
    if (answers) takeAnswers(input);

    plan(topology(), env_.schedule, env_.plan);
    const bool joins = answers || (start_->from && !env_.plan.empty() && input.go_to.empty());
    if (!joins) {
        takeFinished();
        // The Command names the nodes to which it leads, and not those that were due before.
        if (!isDue(breakpoints_.before())) start_->is_behind_gates = true;
        applyOutside(input.writes, routes, env_.log.logsOperations() ? &env_.log.operations() : nullptr);
        commit(Source::input);
        if (root_) root_->noteGoingOn();
        start_->kind = Start::Kind::command;
        env_.teller.values();
        return false;
    }
    if (input.writes.empty() && routes.empty()) return true;
    joinCommand(input.writes, routes);
    return true;
}

// Makes a Command part of the pending superstep: it is stored next to the records of the tasks, with the updates of
// earlier Commands.
void Run::joinCommand(detail::Writes& writes, Routes& routes) {
    JoinedWrites joined(core().schema(), writes);
    checkpoint::TaskFields fields;
    fields.node = "__input__";
    for (const auto& [path, before] : start_->records) {
        if (path != command_path) continue;
        fields.to = before.to;
        fields.sends = before.sends;
        if (before.writes) joined.takeEarlier(*before.writes);
    }
    const std::vector<std::string> payloads = addRoutes(topology(), routes, fields);
    applyOutside(writes, routes, nullptr);
    const std::string list = joined.encode(env_.state.values);
    fields.writes = list;
    std::string bytes;
    checkpoint::writeTask(env_.place.checkpoint, fields, bytes);
    env_.log.putTask({env_.place.checkpoint, command_path, bytes, start_->stored(command_path)});
    env_.log.forceSnapshot();
}

}  // namespace stategraph::engine
