#include <stategraph/error.hpp>

#include "src/commit/task_record.hpp"
#include "src/commit/thread_reading.hpp"
#include "src/commit/visit.hpp"
#include "src/run/run.hpp"

// Loads what a run begins with: the requested checkpoint, or the newest one that counts.
namespace stategraph::engine {

using detail::RunInput;

// Determines where each of the runs begins if the config names a checkpoint of a subgraph.
void Run::planTravels(const RunInput& input) {
    const RunConfig& config = *env_.shared.config;
    const ErrorContext context{.thread_id = config.thread_id.toString(), .checkpoint_ns = config.checkpoint_ns};
    if (!env_.log.hasSaver()) {
        throw MissingCheckpointerError("the run is to begin inside the subgraph '" + config.checkpoint_ns +
                                           "', and the graph was compiled without a checkpointer",
                                       context);
    }
    if (input.kind != RunInput::Kind::resume) {
        throw InvalidArgumentError(
            "a run that begins inside the subgraph '" + config.checkpoint_ns +
                "' continues from there: give it RESUME, and input, answers and Commands to the thread itself",
            context);
    }
    env_.shared.stops = planTravel(core(), *env_.shared.saver, config);
    start_->stop = env_.shared.stops.data();
}

// Returns whether a root checkpoint that a visit names is in the log. It is not if the process died before it was
// stored.
bool Run::wasStored(CheckpointId root_checkpoint) const noexcept {
    const TaskEnv& root = env_.root();
    return root_checkpoint <= root.place.head_at_begin || root.ids.made(root_checkpoint);
}

// Completes a checkpoint of an earlier version, which does not say where the logs of subgraphs were.
void Run::completeVisits() {
    if (!topology().has_lasting || !start_->from || env_.schedule.knows_all_visits) return;
    CheckpointId bound = start_->travels() ? start_->inside.bound : CheckpointId();
    if (bound.empty() && env_.link != nullptr && env_.link->start.replaying) bound = env_.link->start.bound;
    engine::completeVisits(*env_.shared.saver, env_.place.log(), bound, env_.schedule,
                           [this](CheckpointId root) { return wasStored(root); });
}

// Returns whether an inner run is one of a fresh task, whose log cannot exist yet.
bool Run::beginsAnew() const noexcept {
    return env_.link != nullptr && !env_.link->start.resuming && !env_.link->start.replaying && !env_.isPerThread();
}

// Returns the checkpoint that is named; none if it is the newest.
CheckpointId Run::wanted() const noexcept {
    if (start_->stop != nullptr) return start_->stop->id;
    return env_.link != nullptr ? CheckpointId() : env_.shared.config->checkpoint_id;
}

// Returns what `load` reads first, if that can be said before. Logs that live with the thread, and threads that may be
// warm, are looked for by `load`.
std::optional<TupleQuery> Run::toRead() const {
    if (!env_.log.hasSaver()) return std::nullopt;
    const CheckpointId id = wanted();
    const std::string_view ns =
        start_->stop != nullptr ? std::string_view(start_->stop->ns) : std::string_view(env_.place.ns);
    const TupleQuery query{.log = {env_.shared.config->thread_id.view(), ns}, .checkpoint_id = id};
    if (id) return query;
    if (beginsAnew() || env_.isPerThread() || warmThreads() != nullptr) return std::nullopt;
    return query;
}

std::optional<CheckpointTuple> Run::read(const TupleQuery& query) {
    if (!start_->ahead) return env_.shared.saver->getTuple(query);
    auto tuple = std::move(*start_->ahead);
    start_->ahead.reset();
    return tuple;
}

// Returns the checkpoint at which a run begins if its config names none, and the newest checkpoint of the log.
std::optional<CheckpointTuple> Run::newestOf(const LogName& log, CheckpointId& head) {
    const bool resumes = env_.link != nullptr && env_.link->start.resuming && !env_.link->start.replaying;
    if (env_.isPerThread()) {
        const TaskEnv& outer = *env_.link->env;
        if (resumes) {
            if (auto visit = findVisit(*env_.shared.saver, log, outer.visitFrom(), head)) return visit;
        }
        const CheckpointId last = outer.schedule.lastVisit(lastingLog(outer.nodeOf(*env_.link->task), env_.link->key));
        return findVisitStart(*env_.shared.saver, log, outer.visitFrom(), last, head);
    }
    if (beginsAnew()) return std::nullopt;
    auto tuple = read({.log = log});
    if (tuple) head = tuple->head;
    // In time travel, it begins with a new state.
    if (env_.link != nullptr && env_.link->start.replaying) return std::nullopt;
    return tuple;
}

// Returns the namespace of a task's log that lives with the thread. Returns none if the task has no such log, or if a
// user's function fails.
std::optional<std::string> Run::lastingLogOf(const Task& task) const {
    const Node& node = env_.nodeOf(task);
    if (!node.subgraph || !livesWithThread(*node.subgraph->spec.core)) return std::nullopt;
    const auto key = task.extra().visit ? std::optional(task.extra().visit->key)
                                        : findKey(core().schema(), node, env_.state.values, env_.sendOf(task));
    if (!key || (key->empty() && hasKeys(node))) return std::nullopt;
    return lastingLog(node, *key);
}

// Returns where the visit of the current superstep has left a log, or none if the visit has not begun.
CheckpointId Run::visitOf(const std::string& log) const {
    if (!hasSaver()) return {};
    const std::string ns = env_.place.ns.empty() ? log : env_.place.ns + '|' + log;
    CheckpointId head;
    const auto visit =
        findVisit(*env_.shared.saver, {env_.shared.config->thread_id.view(), ns}, env_.visitFrom(), head);
    return visit ? visit->id : CheckpointId();
}

// When the superstep ends, later visits continue from where its visits left their logs. The visits of tasks that an
// earlier run finished are found in the logs.
void Run::findEndedVisits() {
    std::vector<Schedule::LastVisit>& ended = env_.memory->superstep.ended_visits;
    ended.clear();
    for (const Task* task : env_.superstep->tasks()) {
        if (task->extra().inner_end.empty() && task->progress.status() != TaskStatus::restored) continue;
        const auto log = lastingLogOf(*task);
        if (!log) continue;
        const CheckpointId end = task->extra().inner_end ? task->extra().inner_end : visitOf(*log);
        if (end) ended.push_back({*log, end});
    }
}

// New input drops what is due, but what a visit has stored so far stays in its log.
void Run::noteAbandonedVisits() {
    for (const PlannedTask& planned : env_.plan) {
        Task task;
        task.planned = planned;
        const auto log = lastingLogOf(task);
        const CheckpointId end = log ? visitOf(*log) : CheckpointId();
        if (end) env_.schedule.setVisit(*log, end);
    }
}

// Returns whether an inner run resumes from what it has loaded. Otherwise it begins with its input.
bool Run::goesOnInside(const checkpoint::Folded& from) const {
    if (start_->stop != nullptr) return true;
    if (!env_.link->start.resuming || env_.link->start.replaying) return false;
    return !env_.isPerThread() || isOfVisit(from.commit, env_.link->env->place.ns, env_.link->env->place.checkpoint);
}

void Run::standAt(const checkpoint::CommitFields& commit) noexcept {
    env_.place.checkpoint = commit.id;
    env_.place.parent = commit.parent;
    env_.place.source = commit.source;
    env_.place.step = commit.step + 1;
}

// Returns whether what the caller has read is the state of this graph's own thread.
bool Run::mayBeginWith(const ThreadReading& read) const noexcept {
    return env_.link == nullptr && start_->stop == nullptr && &read.state.schema() == &core().schema();
}

void Run::load(CheckpointId wanted, GoneNodes gone) {
    if (!env_.log.hasSaver()) return;
    Start& start = *start_;
    if (!wanted && start.stop == nullptr && loadWarm()) {
        standAt(start.from->commit);
        env_.ids.observe(env_.place.checkpoint);
        env_.place.head_at_begin = env_.place.checkpoint;
        start.kind = Start::Kind::resume;
        return;
    }
    const std::string_view thread_id = env_.shared.config->thread_id.view();
    const bool is_elsewhere = start.isElsewhere(env_.place.ns);
    const LogName log{thread_id,
                      start.stop != nullptr ? std::string_view(start.stop->ns) : std::string_view(env_.place.ns)};
    // The checkpoints around it are stored before anything of the inner log. Otherwise a failed put would leave that
    // log without them, and a fast one would come before them. The graph next to it may store nothing.
    for (const ParentLink* outer = env_.link; outer != nullptr; outer = outer->env->link)
        outer->env->log.waitForCommits();
    std::optional<CheckpointTuple> tuple;
    CheckpointId head;
    if (wanted) {
        tuple = read({.log = log, .checkpoint_id = wanted});
        if (!tuple) {
            throw InvalidArgumentError(
                "there is no checkpoint " + wanted.toString() + " in thread '" + std::string(thread_id) + "'",
                {.thread_id = std::string(thread_id), .checkpoint_id = wanted.toString()});
        }
        if (!is_elsewhere) head = tuple->head;
    } else {
        tuple = newestOf(log, head);
    }
    bool differs = false;
    bool goes_on = env_.link == nullptr;
    if (tuple) {
        ThreadReading* known = read_before_;
        if (known != nullptr && !(mayBeginWith(*known) && known->isStill(*tuple))) known = nullptr;
        const checkpoint::Folded& from =
            start.from.emplace(known != nullptr ? std::move(known->from) : checkpoint::fold(log, std::move(*tuple)));
        if (env_.link != nullptr) goes_on = goesOnInside(from);
        if (!goes_on && env_.link->start.resuming && !env_.link->start.replaying) gone = GoneNodes::skip;
        if (known != nullptr) {
            env_.state.values.take(known->state);
        } else {
            restoreState(from, env_.state.values);
        }
        differs = restoreSchedule(topology(), core().schema(), from, env_.schedule, gone);
        standAt(from.commit);
        takeRecords();
    }
    env_.ids.observe(head);
    env_.place.head_at_begin = head;
    if (!start.from) env_.place.checkpoint = env_.ids.next();
    env_.log.open(head, start.from ? &*start.from : nullptr, core().schema());
    if (differs) env_.log.forceSnapshot();
    if (is_elsewhere) {
        env_.log.beginAnew();
        env_.schedule.forgetVisits();  // they belong to other logs
    }
    if (!wanted) {
        if (goes_on) start.kind = Start::Kind::resume;
        return;
    }
    const bool at_head = start.from && env_.place.checkpoint == head && !wasEdited();
    const bool is_taken_along = env_.link != nullptr && env_.link->start.replaying;
    if (!at_head || is_taken_along) {
        start.kind = Start::Kind::travel;
    } else {
        start.kind = start.stop != nullptr ? Start::Kind::rerun : Start::Kind::resume;
    }
}

// Takes the records of the loaded checkpoint's tasks, and what their effects have done.
void Run::takeRecords() {
    std::vector<checkpoint::Records::Record> records;
    for (const auto& write : start_->from->tuple.writes) {
        auto record =
            checkpoint::readTask({env_.place.thread_id, env_.place.ns, env_.place.checkpoint, write.path}, write.bytes);
        if (record.effect) {
            const auto result = record.effect->result;
            env_.shared.effects.set(
                write.path, {record.effect->begun, result ? std::optional<std::string>(*result) : std::nullopt});
            continue;
        }
        if (root_ && write.path == checkpoint::run_path) root_->takeRow(std::string(write.bytes), record);
        if (root_ && !record.gates.empty()) env_.shared.gates.setPassed(record.gates);
        records.emplace_back(write.path, std::move(record));
    }
    start_->records = checkpoint::Records(std::move(records));
}

}  // namespace stategraph::engine
