#include <stategraph/runtime.hpp>

#include <stategraph/config.hpp>

#include "src/run/run.hpp"

namespace stategraph {

// Without a run the context is that of a router whose node's state is being edited.

std::string_view Runtime::node() const noexcept {
    return context_->run ? std::string_view(context_->run->nodeOf(*context_->task).name) : context_->edited_node;
}
std::int64_t Runtime::step() const noexcept { return context_->run ? context_->run->step() : 0; }
int Runtime::remainingSteps() const noexcept { return context_->run ? context_->run->remainingSteps() : 0; }
int Runtime::attempt() const noexcept { return context_->attempt; }
TaskId Runtime::taskId() const { return context_->run ? context_->run->idOf(*context_->task) : TaskId(); }
std::string_view Runtime::threadId() const noexcept {
    return context_->run ? context_->run->shared().config->thread_id.view() : std::string_view();
}
CheckpointId Runtime::checkpointId() const noexcept { return context_->run ? context_->run->checkpointId() : CheckpointId(); }
std::string_view Runtime::checkpointNs() const noexcept {
    return context_->run ? std::string_view(context_->run->checkpointNs()) : std::string_view();
}

void Runtime::write(const Value& data) {
    if (context_->run) context_->run->shared().events->custom(*context_->run, *context_->task, data);
}

namespace detail {

Value ask(Runtime& runtime, Value question) {
    TaskContext& context = runtime.context();
    if (context.run == nullptr) throw InvalidUpdateError("a router cannot ask while its node's state is edited");
    if (context.run->shared().saver == nullptr) {  // a subgraph without one asks all the same: the run around it keeps the question
        throw MissingCheckpointerError("node '" + std::string(runtime.node()) +
                                       "' asks for an answer, and the graph has no checkpointer that could keep the run until it comes");
    }
    const TaskId id = runtime.taskId();
    const std::uint64_t index = context.calls++;
    if (auto answer = context.run->findAnswer(*context.task, id, index)) return std::move(*answer);
    throw InterruptSignal{{id, index, std::move(question)}};
}

bool hasPayload(Runtime& runtime) noexcept { return runtime.context().has_payload; }

const Schema& graphSchema(Runtime& runtime) noexcept { return runtime.context().run->core().schema(); }

void refuseAnswer(Runtime& runtime, const WrongTypeError& why) {
    throw RefusedAnswerSignal{runtime.taskId(), runtime.context().calls - 1,
                              "the answer to node '" + std::string(runtime.node()) + "' is of the wrong type: " + why.message() +
                              "; the interrupt stays open"};
}

}  // namespace detail
}  // namespace stategraph
