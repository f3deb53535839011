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

// A log that lives with the thread can be ahead of the thread: its visit was stored, and the process died before the root graph's
// checkpoint that it belongs to was. That superstep never was, so its visit is passed over. Known by a root checkpoint newer than the
// root's log was when this run began, and not made by this run.
void Run::skipLostVisits(const LogName& log, std::optional<CheckpointTuple>& tuple) const {
    const Run* root = parent_->run;
    while (root->parent_ != nullptr) root = root->parent_->run;
    while (tuple) {
        const StoredCommit& newest = tuple->commits.back();
        const CheckpointId at = readLinks({log.thread_id, log.checkpoint_ns, newest.id}, newest.bytes).root;
        if (at <= root->head_at_begin_ || root->ids_.made(at)) return;
        tuple = shared_.saver->getTuple({.log = log, .checkpoint_id = {}, .before = newest.id});
    }
}

// The checkpoint that a run begins at unless one is wanted, and the log's newest.
std::optional<CheckpointTuple> Run::newestOf(const LogName& log, CheckpointId& head) const {
    // A fresh task's inner log cannot exist yet.
    const bool is_new = parent_ != nullptr && !parent_->resuming && !parent_->replaying && !isPerThread();
    if (is_new) return std::nullopt;
    auto tuple = shared_.saver->getTuple({.log = log});
    if (tuple) head = tuple->head;
    if (parent_ != nullptr && parent_->replaying && tuple) {
        // Travelling in time: a log that lives with the thread is read as it was then, one of the task's begins afresh.
        if (!isPerThread()) return std::nullopt;
        tuple = shared_.saver->getTuple({.log = log, .checkpoint_id = {}, .before = parent_->bound});
    } else if (isPerThread()) {
        skipLostVisits(log, tuple);
    }
    return tuple;
}

void Run::load(CheckpointId wanted, GoneNodes gone) {
    if (!log_.hasSaver()) return;
    const std::string_view thread_id = shared_.config->thread_id.view();
    const LogName log{thread_id, stop_ != nullptr ? std::string_view(stop_->ns) : std::string_view(ns_)};
    moved_ = stop_ != nullptr && stop_->ns != ns_;
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
            goes_on_inside_ = !isPerThread() || isOfVisit(*loaded_, parent_->run->ns_, parent_->run->checkpoint_);
            if (!goes_on_inside_) gone = GoneNodes::skip;
        }
        restoreState(*loaded_, state_);
        differs = restoreSchedule(topology(), core_.schema(), *loaded_, schedule_, gone);
        checkpoint_ = loaded_->commit.id;
        source_ = loaded_->commit.source;
        step_ = loaded_->commit.step + 1;
        has_state_ = true;
        for (const auto& write : loaded_->tuple.writes) {
            auto record = checkpoint::readTask({log.thread_id, ns_, checkpoint_, write.path}, write.bytes);
            if (record.effect) {
                const auto result = record.effect->result;
                shared_.effects.set(write.path, {record.effect->begun, result ? std::optional<std::string>(*result) : std::nullopt});
                continue;
            }
            stored_records_.emplace_back(write.path, std::move(record));
        }
    }
    ids_.observe(head);
    head_at_begin_ = head;
    if (!has_state_) checkpoint_ = ids_.next();
    log_.open(head, loaded_ ? &*loaded_ : nullptr, core_.schema());
    if (differs) log_.forceSnapshot();
    if (moved_) log_.beginAnew();

    replay_ = static_cast<bool>(wanted);
    const bool at_head = has_state_ && checkpoint_ == head && source_ != Source::update && source_ != Source::fork;
    const bool is_taken_along = parent_ != nullptr && parent_->run->travelling_;
    travelling_ = replay_ && (!at_head || is_taken_along);
}

}  // namespace stategraph::engine
