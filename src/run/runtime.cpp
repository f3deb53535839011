#include <stategraph/runtime.hpp>

#include <stategraph/config.hpp>

#include "checkpoint/paths.hpp"
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

void Runtime::emitMessage(const Value& part) {
    if (context_->run) context_->run->shared().events->messagePart(*context_->run, *context_->task, context_->attempt, part);
}

std::string Runtime::idempotencyKey(std::string_view key) const {
    if (context_->run == nullptr) throw InvalidUpdateError("a router has no idempotency key while its node's state is edited");
    TaskId id = context_->run->idOf(*context_->task);
    // Without a saver nothing but the run tells its tasks from those of others.
    if (context_->run->shared().saver == nullptr) {
        std::atomic<std::uint64_t>& bits = context_->run->shared().run_bits;
        std::uint64_t none = 0;
        if (bits.load() == 0) bits.compare_exchange_strong(none, context_->run->core().ids().uniqueBits() | 1U);
        id = engine::nameWithin(id, std::to_string(bits.load()));
    }
    std::string text = id.toString();
    if (!key.empty()) text += ":" + std::string(key);
    return text;
}

namespace detail {

Effect::Effect(Runtime& runtime, std::string_view key) : runtime_(runtime), key_(key) {
    if (runtime.context().run == nullptr) throw InvalidUpdateError("a router can have no effects while its node's state is edited");
    if (key.empty() || key.size() > 200) {
        throw InvalidArgumentError("node '" + std::string(runtime.node()) + "' calls once with a key of " + std::to_string(key.size()) +
                                   " bytes; give each effect a name of 1 to 200");
    }
    path_ = checkpoint::effectPath(runtime.taskId(), key);
    engine::Effects::Entry entry = runtime.context().run->shared().effects.find(path_);
    begun_ = entry.begun;
    if (entry.result) result_ = Value::fromCbor(std::move(*entry.result));
}

// Not the task's: which of its questions come before may change, and the effect's must not.
TaskId Effect::questionId() const { return engine::nameWithin(runtime_.taskId(), key_); }

std::optional<Value> Effect::ask() {
    TaskContext& context = runtime_.context();
    if (context.run->shared().saver == nullptr) {
        throw MissingCheckpointerError("node '" + std::string(runtime_.node()) + "' asks about the effect '" + key_ +
                                       "', and the graph has no checkpointer that could keep the run until an answer comes");
    }
    const auto answer = context.run->findAnswer(*context.task, questionId(), begun_);
    if (!answer) {
        std::string cbor;
        Encoder out(cbor);
        out.map(3);
        out.text("node");
        out.text(runtime_.node());
        out.text("effect");
        out.text(key_);
        out.text("idempotency_key");
        out.text(runtime_.idempotencyKey(key_));
        throw InterruptSignal{{questionId(), begun_, Value::fromCbor(std::move(cbor))}};
    }
    Decoder in(answer->bytes());
    if (in.peek() == Decoder::Type::text && in.text() == "repeat") return {};
    in = Decoder(answer->bytes());
    if (in.peek() == Decoder::Type::map && in.map() == 1 && in.peek() == Decoder::Type::text && in.text() == "result") {
        return Value::fromCbor(std::string(in.raw()));
    }
    refuse(R"(it must be "repeat" or {"result": value})");
}

void Effect::begin() { runtime_.context().run->storeEffect(path_, {.begun = ++begun_, .result = {}}); }

void Effect::finish(Value result) {
    runtime_.context().run->storeEffect(path_, {.begun = begun_, .result = std::string(result.bytes())});
    result_ = std::move(result);
}

void Effect::wrongType(const WrongTypeError& why) const {
    throw WrongTypeError("the stored result of the effect '" + key_ + "' is not what node '" + std::string(runtime_.node()) +
                         "' takes now: " + why.message());
}

void Effect::refuse(const std::string& why) const {
    throw RefusedAnswerSignal{questionId(), begun_,
                              "the answer about the effect '" + key_ + "' of node '" + std::string(runtime_.node()) +
                                  "' is not one: " + why + "; the interrupt stays open"};
}

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
