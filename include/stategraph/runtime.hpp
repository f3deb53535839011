#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <stategraph/error.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

namespace detail {
class Schema;
struct TaskContext;
}

/// What a node may ask of the run around it. Valid during the node's call, on the thread of the call.
class Runtime {
public:
    explicit Runtime(detail::TaskContext& context) noexcept : context_(&context) {}
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    std::string_view node() const noexcept;
    /// The number of the superstep, as in checkpoints' metadata.
    std::int64_t step() const noexcept;
    /// Supersteps left before the recursion limit, this one included.
    int remainingSteps() const noexcept;
    /// 1 for the first try.
    int attempt() const noexcept;
    TaskId taskId() const;
    std::string_view threadId() const noexcept;
    /// The checkpoint whose tasks these are; none without a saver.
    CheckpointId checkpointId() const noexcept;
    std::string_view checkpointNs() const noexcept;

    /// Puts a value into the run's stream, for those who asked for `custom`; else nothing happens.
    void write(const Value& data);

    detail::TaskContext& context() noexcept { return *context_; }

private:
    detail::TaskContext* context_;
};

namespace detail {
/// The answer to the task's next question. Throws a private type, through the node, if there is none yet.
Value ask(Runtime& runtime, Value question);
/// Whether the node's input is a Send's payload, and not the state.
bool hasPayload(Runtime& runtime) noexcept;
/// Of the graph that the node is in.
const Schema& graphSchema(Runtime& runtime) noexcept;
/// The last answer is of the wrong type: it is withdrawn, and the run ends with this error.
[[noreturn]] void refuseAnswer(Runtime& runtime, const WrongTypeError& why);
}  // namespace detail

/// Asks a human, or whoever resumes the run. The first time it stops the run and `question` is shown as an open interrupt; when the
/// run is resumed with an answer the node runs again from its beginning and the same call returns the answer.
///
/// Calls are matched with answers by their order within the node. What the node did before is done again: keep it free of
/// side effects. Throws WrongTypeError if the answer is not a T (the interrupt stays open), MissingCheckpointerError without a saver.
template <class T = Value>
T interrupt(Runtime& runtime, const Value& question = {}) {
    Value answer = detail::ask(runtime, question);
    if constexpr (std::is_same_v<T, Value>) {
        return answer;
    } else {
        try {
            return answer.template as<T>();
        } catch (const WrongTypeError& why) {
            detail::refuseAnswer(runtime, why);
        }
    }
}

}  // namespace stategraph
