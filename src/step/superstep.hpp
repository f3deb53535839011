#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/stream.hpp>

#include "src/step/start.hpp"
#include "src/step/task.hpp"
#include "src/superstep/apply.hpp"
#include "src/superstep/encoded_items.hpp"
#include "src/superstep/schedule.hpp"

namespace stategraph::engine {

/// Encoded data of the single task of a superstep, created before its writes are applied.
struct Drafts {
    bool made = false;
    std::string writes;                      // set if the operations do not contain them
    std::vector<std::uint32_t> write_sizes;  // of the parts of `writes`, if they are known
    detail::EncodedItems items{writes};
    std::string record;  // set if the commit does not contain it
    std::vector<WrittenMessage> messages;
    std::optional<StreamEvent> update;
    std::optional<StreamEvent> end;

    void clear() noexcept {
        if (!made) return;
        made = false;
        writes.clear();
        write_sizes.clear();
        items.clear();
        record.clear();
        messages.clear();
        update.reset();
        end.reset();
    }
};

/// The memory that supersteps use, one after the other.
struct SuperstepMemory {
    std::vector<std::unique_ptr<Task>> tasks;  // those in use come first
    std::size_t tasks_used = 0;                // the largest number of them that was in use in this run
    std::vector<Task*> current;
    std::vector<Task*> todo;
    std::vector<Task*> in_turn;
    WriteSet writes;
    std::vector<Routed> routed;
    std::vector<detail::ChannelIndex> ending;
    std::vector<Schedule::LastVisit> ended_visits;
    detail::ChannelSet present_before;
    Drafts drafts;

    /// Resets the previous superstep, and assigns a Task to each task of a plan, in its order.
    void use(const std::vector<PlannedTask>& plan) {
        if (tasks.size() < plan.size()) addTasks(plan.size());
        tasks_used = std::max(tasks_used, plan.size());
        current.clear();
        todo.clear();
        drafts.clear();
        auto place = tasks.begin();
        for (const PlannedTask& planned : plan) {
            Task* const task = (place++)->get();
            task->use(planned);
            current.push_back(task);
        }
    }

private:
    // Adds tasks until there are `count` of them.
    void addTasks(std::size_t count);
};

/// The current superstep: `Run::next` creates it from a plan, and it exists until it has been committed. The run
/// changes it while none of its tasks runs; a task that runs alone may change it too. Functions that are safe from
/// several threads say so.
class Superstep {
public:
    /// `memory` has been prepared for its plan by `use`. `start` is what the run began from if this is its first
    /// superstep, and otherwise null. Both must outlive this object.
    Superstep(SuperstepMemory& memory, const Start* start) noexcept : memory_(memory), start_(start) {}
    Superstep(const Superstep&) = delete;
    Superstep& operator=(const Superstep&) = delete;

    /// Returns all its tasks in planned order.
    const std::vector<Task*>& tasks() const noexcept { return memory_.current; }
    /// Returns those that are to be executed.
    std::vector<Task*>& todo() noexcept { return memory_.todo; }
    const std::vector<Task*>& todo() const noexcept { return memory_.todo; }
    bool hasOneTask() const noexcept { return memory_.current.size() == 1; }
    SuperstepMemory& memory() noexcept { return memory_; }
    Drafts& drafts() noexcept { return memory_.drafts; }
    /// Returns null if it is not the run's first superstep.
    const Start* start() const noexcept { return start_; }

    /// Returns whether its writes are in the state while no commit contains them yet.
    bool isApplied() const noexcept { return is_applied_; }
    void setApplied(bool is_applied) noexcept { is_applied_ = is_applied; }
    /// Returns whether one of its tasks has failed. Safe from several threads.
    bool hasFailed() const noexcept { return has_failed_.load(std::memory_order_relaxed); }
    void noteFailure() noexcept { has_failed_.store(true, std::memory_order_relaxed); }

private:
    SuperstepMemory& memory_;
    const Start* const start_;
    bool is_applied_ = false;
    std::atomic<bool> has_failed_ = false;
};

}  // namespace stategraph::engine
