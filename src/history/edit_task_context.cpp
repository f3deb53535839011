#include "src/history/edit_task_context.hpp"

#include <thread>

#include "src/value/lasting.hpp"

namespace stategraph::engine {

const RunContext& EditTaskContext::runContext() const noexcept {
    static const Lasting<RunContext> none;
    return *none;
}

void EditTaskContext::sleepUntil(std::chrono::steady_clock::time_point until) { std::this_thread::sleep_until(until); }

const void* EditTaskContext::state(const void*) const { refuseState("and no run is under way"); }

}  // namespace stategraph::engine
