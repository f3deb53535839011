#include "src/run/execution.hpp"
#include "src/run/run.hpp"
#include "src/run/task_turns.hpp"
#include "src/run/task_window.hpp"
#include "src/threads/inside_run.hpp"

// Drives a run on the calling thread, with the executor's help.
namespace stategraph::engine {

void Run::execute(Task& task) noexcept { Execution(env_, task)(); }

void Run::executeAll() noexcept {
    const InsideRun inside(env_.shared.claim);
    const std::vector<Task*>& todo = env_.superstep->todo();
    if (todo.size() == 1) {
        execute(*todo.front());
    } else if (env_.shared.concurrency == 1) {
        executeInTurn();
    } else if (!todo.empty()) {
        try {
            if (topology().has_seats) {
                TaskWindow window(topology(), todo);
                executeWithin(window);
                return;
            }
            const auto run = [](void* self, std::size_t i) {
                auto& driven = *static_cast<Run*>(self);
                const InsideRun helping(driven.env_.shared.claim);
                driven.execute(*driven.env_.superstep->todo()[i]);
            };
            env_.shared.executor->forEach(todo.size(), env_.shared.concurrency, run, this);
        } catch (...) {
            executeInTurn();  // there was no memory for helpers, and nothing has begun
        }
    }
}

// As many workers execute the tasks as may run at the same time.
void Run::executeWithin(TaskWindow& window) {
    struct Both {
        Run& run;
        TaskWindow& window;
    } both{*this, window};
    const auto run = [](void* of, std::size_t) {
        auto& [driven, tasks] = *static_cast<Both*>(of);
        const InsideRun helping(driven.env_.shared.claim);
        for (Task* task = tasks.take(nullptr); task != nullptr; task = tasks.take(task)) driven.execute(*task);
    };
    env_.shared.executor->forEach(window.hands(), env_.shared.concurrency, run, &both);
}

void Run::executeInTurn() noexcept {
    TaskTurns turns(env_.memory->superstep.in_turn, todo());  // allocates nothing: prepareTasks reserved memory
    while (Task* const task = turns.next()) {
        Execution execution(env_, *task);
        try {
            if (turns.number() > 1) execution.waitAfter(turns.number() - 1);
        } catch (...) {  // it cannot wait, because there is no memory
            execution.couldNotRun(std::current_exception());
        }
        if (!task->progress.hasEnded() && !execution.once(turns.number())) turns.again();
    }
}

RunOutcome& Run::drive(detail::RunInput&& input) {
    const InsideRun inside(env_.shared.claim);
    try {
        begin(std::move(input));
        while (next()) {
            if (todo().size() == 1) {
                execute(*todo().front());  // without an InsideRun of its own, as most supersteps have one task
            } else {
                executeAll();
            }
            endSuperstep();
            if (isPaused()) break;
        }
    } catch (...) {
        fail();
        throw;
    }
    return finish();
}

}  // namespace stategraph::engine
