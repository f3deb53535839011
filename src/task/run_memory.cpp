#include "src/task/run_memory.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stategraph::engine {
namespace {

// Ordinary graphs nest at most this many runs in each other.
constexpr std::size_t kept_max = 4;
constexpr std::size_t kept_tasks_max = 64;
// The size of the memory that is kept, in addition to that of its first tasks.
constexpr std::size_t kept_bytes_max = std::size_t{256} << 10U;
constexpr std::size_t kept_task_bytes_max = std::size_t{2} << 10U;

struct Kept {
    std::array<std::unique_ptr<RunMemory>, kept_max> memories;
    std::size_t count = 0;
    ~Kept();
};

// Whether the variables of the thread were destroyed; a run may end after that.
thread_local bool is_gone = false;
thread_local Kept kept;

Kept::~Kept() { is_gone = true; }

template <class T>
std::size_t roomOf(const std::vector<T>& each) noexcept {
    return each.capacity() * sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be a pointer
}

std::size_t roomOf(const Task& task) noexcept {
    return roomOf(task.result.go_to) + roomOf(task.routes.to) + roomOf(task.routes.sends) + roomOf(task.extra().asked);
}

std::size_t roomOf(const RunMemory& memory) noexcept {
    const SuperstepMemory& each = memory.superstep;
    const Drafts& drafts = each.drafts;
    return memory.schedule.roomBytes() + memory.log.roomBytes() + roomOf(memory.plan) + each.writes.roomBytes() +
           roomOf(each.tasks) + roomOf(each.current) + roomOf(each.todo) + roomOf(each.in_turn) + roomOf(each.routed) +
           roomOf(each.ending) + roomOf(each.ended_visits) + drafts.writes.capacity() + drafts.record.capacity() +
           roomOf(drafts.write_sizes) + roomOf(drafts.messages);
}

// Returns false only if nothing that a run without a saver can grow is large. This is cheaper to check than to measure
// everything. Call it before `forget`.
bool mayBeTooLarge(const RunMemory& memory) noexcept {
    constexpr std::size_t few = 256;
    return memory.superstep.tasks_used > 16 || memory.superstep.writes.room() > few ||
           memory.schedule.sends.capacity() > few || memory.log.hasSaver() ||
           memory.superstep.drafts.messages.capacity() > few;
}

// Releases users' values, and the memory of a wide superstep.
void forget(RunMemory& memory) {
    memory.log.end();
    memory.schedule.input.clear();
    memory.schedule.sends.clear();
    memory.plan.clear();
    SuperstepMemory& each = memory.superstep;
    each.drafts.clear();
    each.current.clear();
    each.todo.clear();
    each.routed.clear();
    each.writes.clear();
    each.ended_visits.clear();
    if (each.tasks.size() > kept_tasks_max) each.tasks.resize(kept_tasks_max);
    each.tasks_used = std::min(each.tasks_used, each.tasks.size());
    for (std::size_t i = each.tasks_used; i-- > 0;) {
        each.tasks[i]->clear();
        if (roomOf(*each.tasks[i]) > kept_task_bytes_max)
            each.tasks.erase(each.tasks.begin() + static_cast<std::ptrdiff_t>(i));
    }
    each.tasks_used = 0;
}

}  // namespace

void SuperstepMemory::addTasks(std::size_t count) {
    while (tasks.size() < count) tasks.push_back(std::make_unique<Task>());
}

RunMemoryLoan::RunMemoryLoan() {
    if (!is_gone && kept.count > 0) {
        memory_ = std::move(kept.memories[--kept.count]);
    } else {
        memory_ = std::make_unique<RunMemory>();
    }
}

RunMemoryLoan::~RunMemoryLoan() {
    if (is_gone) return;
    const bool is_measured = mayBeTooLarge(*memory_);
    forget(*memory_);  // before it is kept, because this calls destructors of users' values, which may run graphs
    if (kept.count == kept_max || (is_measured && roomOf(*memory_) > kept_bytes_max)) return;
    kept.memories[kept.count++] = std::move(memory_);
}

}  // namespace stategraph::engine
