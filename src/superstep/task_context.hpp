#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <stategraph/failure.hpp>
#include <stategraph/interrupt.hpp>

namespace stategraph {
class BaseStore;
}

namespace stategraph::engine {
class Attempt;
class TaskEnv;
struct Task;
}  // namespace stategraph::engine

namespace stategraph::detail {

class CallQuestions;

/// Behind Runtime: one attempt of one task.
struct TaskContext {
    engine::TaskEnv* env = nullptr;  // null: no run, a router is asked on behalf of an edit
    engine::Task* task = nullptr;
    std::string_view edited_node = {};
    BaseStore* edited_store = nullptr;
    int attempt = 1;
    std::uint64_t calls = 0;                 // of interrupt, in this attempt; not those in functions that `once` calls
    std::uint64_t calls_inside = 0;          // those, but for what Flow::start began
    bool took_old_answer = false;            // TaskQuestions::takeOldAnswer
    CallQuestions* awaited_calls = nullptr;  // functions that are coroutines, the one that began last first
    bool has_payload = false;                // the input is a Send's payload
    engine::Attempt* attempt_apart = nullptr;  // the node may be given up: then `env` and `task` may be gone
    const NodeFailure* failure = nullptr;      // of an error handler: why it is called
};

/// Unwind a node that asked. Not a std::exception, so that a node's own handlers leave them alone.
struct InterruptSignal {
    Interrupt interrupt;
};
/// The run is to end before the node is done.
struct StopSignal {};
/// The node wants to go on at a later time.
struct SleepSignal {
    std::int64_t wake_unix_ms;
};
struct RefusedAnswerSignal {
    TaskId id;
    std::uint64_t index;
    std::string why;
};

}  // namespace stategraph::detail
