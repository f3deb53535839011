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
    stop_ = shared_.stops.data();
}

// The stop of the run inside a task, if the way of this run leads into it.
const TravelStop* Run::nextStop(const Task& task, std::string_view key) const {
    if (stop_ == nullptr || !first_ || stop_ == &shared_.stops.back()) return nullptr;
    const Node& node = nodeOf(task);
    const TaskId then = makeTaskId({stop_->id, stop_->ns, loaded_->commit.step + 1, node.stored_name, pathOf(topology(), task.planned)});
    const TravelStop* next = stop_ + 1;
    return innerNamespace(stop_->ns, node, then, key) == next->ns ? next : nullptr;
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
    if (!topology().has_lasting || !has_state_ || schedule_.knows_all_visits) return;
    CheckpointId bound = travelling_ ? inner_bound_ : CheckpointId();
    if (bound.empty() && parent_ != nullptr && parent_->replaying) bound = parent_->bound;
    engine::completeVisits(*shared_.saver, {shared_.config->thread_id.view(), place_.ns}, bound, schedule_,
                           [this](CheckpointId root) { return wasStored(root); });
}

// The checkpoint that a run begins at unless one is wanted, and the log's newest.
std::optional<CheckpointTuple> Run::newestOf(const LogName& log, CheckpointId& head) const {
    const bool resumes = parent_ != nullptr && parent_->resuming && !parent_->replaying;
    if (isPerThread()) {
        const Run& outer = *parent_->run;
        if (resumes) {
            if (auto visit = findVisit(*shared_.saver, log, outer.visitFrom(), head)) return visit;
        }
        const CheckpointId last = outer.schedule_.lastVisit(lastingLog(outer.nodeOf(*parent_->task), parent_->key));
        return findVisitStart(*shared_.saver, log, outer.visitFrom(), last, head);
    }
    // A fresh task's inner log cannot exist yet.
    if (parent_ != nullptr && !resumes && !parent_->replaying) return std::nullopt;
    auto tuple = shared_.saver->getTuple({.log = log});
    if (tuple) head = tuple->head;
    if (parent_ != nullptr && parent_->replaying) return std::nullopt;  // travelling in time it begins afresh
    return tuple;
}

// What a task's log that lives with the thread is called; none: it has none, or a function of the user's fails.
std::optional<std::string> Run::lastingLogOf(const Task& task) const {
    const Node& node = nodeOf(task);
    if (!node.subgraph || !livesWithThread(*node.subgraph->spec.core)) return std::nullopt;
    const auto key = task.extra().visit ? std::optional(task.extra().visit->key) : findKey(core_.schema(), node, state_, sendOf(task));
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
    ended_visits_.clear();
    for (const Task* task : current_) {
        if (task->extra().inner_end.empty() && task->progress.status() != TaskStatus::restored) continue;
        const auto log = lastingLogOf(*task);
        if (!log) continue;
        const CheckpointId end = task->extra().inner_end ? task->extra().inner_end : visitOf(*log);
        if (end) ended_visits_.push_back({*log, end});
    }
}

// New input drops what is due; what a visit has stored by then stays in its log.
void Run::noteAbandonedVisits() {
    for (const PlannedTask& planned : *plan_) {
        Task task;
        task.planned = planned;
        const auto log = lastingLogOf(task);
        const CheckpointId end = log ? visitOf(*log) : CheckpointId();
        if (end) schedule_.setVisit(*log, end);
    }
}

void Run::load(CheckpointId wanted, GoneNodes gone) {
    if (!log_.hasSaver()) return;
    const std::string_view thread_id = shared_.config->thread_id.view();
    const LogName log{thread_id, stop_ != nullptr ? std::string_view(stop_->ns) : std::string_view(place_.ns)};
    moved_ = stop_ != nullptr && stop_->ns != place_.ns;
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
        if (!moved_) head = tuple->head;
    } else {
        tuple = newestOf(log, head);
    }
    bool differs = false;
    if (tuple) {
        loaded_ = checkpoint::fold(log, std::move(*tuple));
        if (parent_ != nullptr && stop_ != nullptr) {
            goes_on_inside_ = true;
        } else if (parent_ != nullptr && parent_->resuming && !parent_->replaying) {
            goes_on_inside_ = !isPerThread() || isOfVisit(loaded_->commit, parent_->run->place_.ns, parent_->run->place_.checkpoint);
            if (!goes_on_inside_) gone = GoneNodes::skip;
        }
        restoreState(*loaded_, state_);
        differs = restoreSchedule(topology(), core_.schema(), *loaded_, schedule_, gone);
        place_.checkpoint = loaded_->commit.id;
        place_.parent = loaded_->commit.parent;
        place_.source = loaded_->commit.source;
        place_.step = loaded_->commit.step + 1;
        has_state_ = true;
        std::vector<checkpoint::Records::Record> records;
        for (const auto& write : loaded_->tuple.writes) {
            auto record = checkpoint::readTask({log.thread_id, place_.ns, place_.checkpoint, write.path}, write.bytes);
            if (record.effect) {
                const auto result = record.effect->result;
                shared_.effects.set(write.path, {record.effect->begun, result ? std::optional<std::string>(*result) : std::nullopt});
                continue;
            }
            records.emplace_back(write.path, std::move(record));
        }
        stored_records_ = checkpoint::Records(std::move(records));
    }
    ids_.observe(head);
    head_at_begin_ = head;
    if (!has_state_) place_.checkpoint = ids_.next();
    log_.open(head, loaded_ ? &*loaded_ : nullptr, core_.schema());
    if (differs) log_.forceSnapshot();
    if (moved_) {
        log_.beginAnew();
        schedule_.forgetVisits();  // they are of other logs
    }

    replay_ = static_cast<bool>(wanted);
    const bool at_head = has_state_ && place_.checkpoint == head && place_.source != Source::update && place_.source != Source::fork;
    const bool is_taken_along = parent_ != nullptr && parent_->run->travelling_;
    travelling_ = replay_ && (!at_head || is_taken_along);
}

}  // namespace stategraph::engine
