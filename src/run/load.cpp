#include <stategraph/error.hpp>

#include "src/commit/task_record.hpp"
#include "src/commit/visit.hpp"
#include "src/run/run.hpp"

// What a run begins with: the checkpoint that is wanted, or the newest one that counts.
namespace stategraph::engine {

using detail::RunInput;

// Where each of the runs begins if the config names a checkpoint of a subgraph.
void Run::planTravels(const RunInput& input) {
    const RunConfig& config = *shared_.config;
    const ErrorContext context{.thread_id = config.thread_id.toString(), .checkpoint_ns = config.checkpoint_ns};
    if (!log_.hasSaver()) {
        throw MissingCheckpointerError("the run is to begin inside the subgraph '" + config.checkpoint_ns + "', and the graph was compiled without a checkpointer",
                                       context);
    }
    if (input.kind != RunInput::Kind::resume) {
        throw InvalidArgumentError("a run that begins inside the subgraph '" + config.checkpoint_ns +
                                       "' goes on from there: give it RESUME, and input, answers and Commands to the thread itself",
                                   context);
    }
    shared_.stops = planTravel(core_, *shared_.saver, config);
    start_->stop = shared_.stops.data();
}

// The stop of the run inside a task, if the way of this run leads into it.
const TravelStop* Run::nextStop(const Task& task, std::string_view key) const {
    const Start* const start = superstep_->start();
    if (start == nullptr || start->stop == nullptr || start->stop == &shared_.stops.back()) return nullptr;
    const TravelStop& stop = *start->stop;
    const Node& node = nodeOf(task);
    const TaskId then = makeTaskId({stop.id, stop.ns, start->from->commit.step + 1, node.stored_name, pathOf(topology(), task.planned)});
    const TravelStop* next = &stop + 1;
    return innerNamespace(stop.ns, node, then, key) == next->ns ? next : nullptr;
}

bool Run::isPerThread() const noexcept { return parent_ != nullptr && livesWithThread(core_); }

// Whether a root checkpoint that a visit names is in the log: not if the process died before it was stored.
bool Run::wasStored(CheckpointId root_checkpoint) const noexcept {
    const Run* root = this;
    while (root->parent_ != nullptr) root = root->parent_->run;
    return root_checkpoint <= root->head_at_begin_ || root->ids_.made(root_checkpoint);
}

// What an earlier version stored does not say where the logs of subgraphs were.
void Run::completeVisits() {
    if (!topology().has_lasting || !start_->from || schedule_.knows_all_visits) return;
    CheckpointId bound = start_->travels() ? start_->inside.bound : CheckpointId();
    if (bound.empty() && parent_ != nullptr && parent_->start.replaying) bound = parent_->start.bound;
    engine::completeVisits(*shared_.saver, place_.log(), bound, schedule_,
                           [this](CheckpointId root) { return wasStored(root); });
}

// The checkpoint that a run begins at unless one is wanted, and the log's newest.
std::optional<CheckpointTuple> Run::newestOf(const LogName& log, CheckpointId& head) const {
    const bool resumes = parent_ != nullptr && parent_->start.resuming && !parent_->start.replaying;
    if (isPerThread()) {
        const Run& outer = *parent_->run;
        if (resumes) {
            if (auto visit = findVisit(*shared_.saver, log, outer.visitFrom(), head)) return visit;
        }
        const CheckpointId last = outer.schedule_.lastVisit(lastingLog(outer.nodeOf(*parent_->task), parent_->key));
        return findVisitStart(*shared_.saver, log, outer.visitFrom(), last, head);
    }
    // A fresh task's inner log cannot exist yet.
    if (parent_ != nullptr && !resumes && !parent_->start.replaying) return std::nullopt;
    auto tuple = shared_.saver->getTuple({.log = log});
    if (tuple) head = tuple->head;
    if (parent_ != nullptr && parent_->start.replaying) return std::nullopt;  // travelling in time it begins afresh
    return tuple;
}

// What a task's log that lives with the thread is called; none: it has none, or a function of the user's fails.
std::optional<std::string> Run::lastingLogOf(const Task& task) const {
    const Node& node = nodeOf(task);
    if (!node.subgraph || !livesWithThread(*node.subgraph->spec.core)) return std::nullopt;
    const auto key = task.extra().visit ? std::optional(task.extra().visit->key) : findKey(core_.schema(), node, state_.values, sendOf(task));
    if (!key || (key->empty() && hasKeys(node))) return std::nullopt;
    return lastingLog(node, *key);
}

// Where the visit that the superstep under way makes has left a log; none: it has not begun.
CheckpointId Run::visitOf(const std::string& log) const {
    if (!hasSaver()) return {};
    const std::string ns = place_.ns.empty() ? log : place_.ns + '|' + log;
    CheckpointId head;
    const auto visit = findVisit(*shared_.saver, {shared_.config->thread_id.view(), ns}, visitFrom(), head);
    return visit ? visit->id : CheckpointId();
}

// The superstep ends: what is visited next goes on from where its visits left their logs. Those of tasks that an earlier run finished
// are found in the logs.
void Run::findEndedVisits() {
    std::vector<Schedule::LastVisit>& ended = memory_->superstep.ended_visits;
    ended.clear();
    for (const Task* task : superstep_->tasks()) {
        if (task->extra().inner_end.empty() && task->progress.status() != TaskStatus::restored) continue;
        const auto log = lastingLogOf(*task);
        if (!log) continue;
        const CheckpointId end = task->extra().inner_end ? task->extra().inner_end : visitOf(*log);
        if (end) ended.push_back({*log, end});
    }
}

// New input drops what is due; what a visit has stored by then stays in its log.
void Run::noteAbandonedVisits() {
    for (const PlannedTask& planned : plan_) {
        Task task;
        task.planned = planned;
        const auto log = lastingLogOf(task);
        const CheckpointId end = log ? visitOf(*log) : CheckpointId();
        if (end) schedule_.setVisit(*log, end);
    }
}

// Whether a run inside goes on from what it has loaded; else it begins with its input.
bool Run::goesOnInside(const checkpoint::Folded& from) const {
    if (start_->stop != nullptr) return true;
    if (!parent_->start.resuming || parent_->start.replaying) return false;
    return !isPerThread() || isOfVisit(from.commit, parent_->run->place_.ns, parent_->run->place_.checkpoint);
}

void Run::load(CheckpointId wanted, GoneNodes gone) {
    if (!log_.hasSaver()) return;
    Start& start = *start_;
    const std::string_view thread_id = shared_.config->thread_id.view();
    const bool is_elsewhere = start.isElsewhere(place_.ns);
    const LogName log{thread_id, start.stop != nullptr ? std::string_view(start.stop->ns) : std::string_view(place_.ns)};
    // The checkpoint that a log inside belongs to is stored before anything of that log: else a failed put would leave it without.
    if (parent_ != nullptr) parent_->run->log_.wait();
    std::optional<CheckpointTuple> tuple;
    CheckpointId head;
    if (wanted) {
        tuple = shared_.saver->getTuple({.log = log, .checkpoint_id = wanted});
        if (!tuple) {
            throw InvalidArgumentError("there is no checkpoint " + wanted.toString() + " in thread '" + std::string(thread_id) + "'",
                                       {.thread_id = std::string(thread_id), .checkpoint_id = wanted.toString()});
        }
        if (!is_elsewhere) head = tuple->head;
    } else {
        tuple = newestOf(log, head);
    }
    bool differs = false;
    bool goes_on = parent_ == nullptr;
    if (tuple) {
        const checkpoint::Folded& from = start.from.emplace(checkpoint::fold(log, std::move(*tuple)));
        if (parent_ != nullptr) goes_on = goesOnInside(from);
        if (!goes_on && parent_->start.resuming && !parent_->start.replaying) gone = GoneNodes::skip;
        restoreState(from, state_.values);
        differs = restoreSchedule(topology(), core_.schema(), from, schedule_, gone);
        place_.checkpoint = from.commit.id;
        place_.parent = from.commit.parent;
        place_.source = from.commit.source;
        place_.step = from.commit.step + 1;
        takeRecords();
    }
    ids_.observe(head);
    head_at_begin_ = head;
    if (!start.from) place_.checkpoint = ids_.next();
    log_.open(head, start.from ? &*start.from : nullptr, core_.schema());
    if (differs) log_.forceSnapshot();
    if (is_elsewhere) {
        log_.beginAnew();
        schedule_.forgetVisits();  // they are of other logs
    }
    if (!wanted) {
        if (goes_on) start.kind = Start::Kind::resume;
        return;
    }
    const bool at_head = start.from && place_.checkpoint == head && !wasEdited();
    const bool is_taken_along = parent_ != nullptr && parent_->start.replaying;
    start.kind = !at_head || is_taken_along ? Start::Kind::travel : Start::Kind::rerun;
}

// The records of the loaded checkpoint's tasks, and what their effects have done.
void Run::takeRecords() {
    std::vector<checkpoint::Records::Record> records;
    for (const auto& write : start_->from->tuple.writes) {
        auto record = checkpoint::readTask({place_.thread_id, place_.ns, place_.checkpoint, write.path}, write.bytes);
        if (record.effect) {
            const auto result = record.effect->result;
            shared_.effects.set(write.path, {record.effect->begun, result ? std::optional<std::string>(*result) : std::nullopt});
            continue;
        }
        records.emplace_back(write.path, std::move(record));
    }
    start_->records = checkpoint::Records(std::move(records));
}

}  // namespace stategraph::engine
