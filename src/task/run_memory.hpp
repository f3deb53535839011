#pragma once
#include <memory>
#include <vector>

#include "src/commit/log_writer.hpp"
#include "src/step/superstep.hpp"
#include "src/superstep/schedule.hpp"

namespace stategraph::engine {

/// The data of a run, changed from superstep to superstep. Only its memory outlives the run.
struct RunMemory {
    Schedule schedule;
    std::vector<PlannedTask> plan;  // of `schedule`
    SuperstepMemory superstep;
    LogWriter log;
};

/// Lends a RunMemory for the time of one run. A thread keeps a few for its next runs, so that short runs hardly
/// allocate.
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
