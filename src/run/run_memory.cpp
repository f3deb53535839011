#include "src/run/run_memory.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stategraph::engine {
namespace {

// As many as runs are nested in each other at most, in ordinary graphs.
constexpr std::size_t kept_max = 4;
constexpr std::size_t kept_tasks_max = 64;

struct Kept {
    std::array<std::unique_ptr<RunMemory>, kept_max> memories;
    std::size_t count = 0;
    ~Kept();
};

// A run may end when its thread's variables are gone already.
thread_local bool is_gone = false;
thread_local Kept kept;

Kept::~Kept() { is_gone = true; }

// Users' values, and a wide superstep's room.
void forget(RunMemory& memory) {
    memory.log.end();
    memory.drafts.clear();
    memory.schedule.input.clear();
    memory.schedule.sends.clear();
    memory.current.clear();
    memory.todo.clear();
    memory.routed.clear();
    memory.writes.clear();
    if (memory.tasks.size() > kept_tasks_max) memory.tasks.resize(kept_tasks_max);
    for (std::size_t i = 0; i < std::min(memory.tasks_used, memory.tasks.size()); ++i) memory.tasks[i]->reset({});
    memory.tasks_used = 0;
}

}  // namespace

RunMemoryLoan::RunMemoryLoan() {
    if (!is_gone && kept.count > 0) {
        memory_ = std::move(kept.memories[--kept.count]);
    } else {
        memory_ = std::make_unique<RunMemory>();
    }
}

RunMemoryLoan::~RunMemoryLoan() {
    if (is_gone) return;
    forget(*memory_);  // first: it calls destructors of users' values, which may run graphs
    if (kept.count == kept_max) return;
    kept.memories[kept.count++] = std::move(memory_);
}

}  // namespace stategraph::engine
