#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/stream.hpp>

#include "src/commit/log_writer.hpp"
#include "src/run/task.hpp"
#include "src/superstep/apply.hpp"
#include "src/superstep/schedule.hpp"

namespace stategraph::engine {

/// Of the one task of a superstep, made before its writes are applied.
struct Drafts {
    bool made = false;
    std::string writes;  // if the operations do not say them
    std::string record;  // if the commit does not
    std::vector<StreamEvent> messages;
    std::optional<StreamEvent> update;
    std::optional<StreamEvent> end;

    void clear() noexcept {
        if (!made) return;
        made = false;
        writes.clear();
        record.clear();
        messages.clear();
        update.reset();
        end.reset();
    }
};

/// What a run works with, superstep by superstep; nothing in it outlives the run but memory.
struct RunMemory {
    Schedule schedule;
    std::vector<PlannedTask> plan;
    std::vector<PlannedTask> next_plan;
    std::vector<std::unique_ptr<Task>> tasks;  // the first plan.size() are in use
    std::size_t tasks_used = 0;                // the most of them that were, in this run
    std::vector<Task*> current;
    std::vector<Task*> todo;
    std::vector<Task*> in_turn;
    WriteSet writes;
    std::vector<Routed> routed;
    std::vector<detail::ChannelIndex> ending;
    std::vector<Schedule::LastVisit> ended_visits;
    Drafts drafts;
    LogWriter log;
};

/// A RunMemory for the time of one run. A thread keeps a few for its next runs, so that short runs hardly allocate.
class RunMemoryLoan {
public:
    RunMemoryLoan();
    ~RunMemoryLoan();
    RunMemoryLoan(const RunMemoryLoan&) = delete;
    RunMemoryLoan& operator=(const RunMemoryLoan&) = delete;
    RunMemory* operator->() const noexcept { return memory_.get(); }

private:
    std::unique_ptr<RunMemory> memory_;
};

}  // namespace stategraph::engine
