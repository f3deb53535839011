#include <stategraph/runtime.hpp>

#include <chrono>
#include <thread>

#include <stategraph/control.hpp>

#include "checkpoint/paths.hpp"
#include "src/task/attempt.hpp"
#include "src/task/task_questions.hpp"
#include "src/value/lasting.hpp"
#include "src/value/times.hpp"

namespace stategraph {

// Without a run the context is that of a router whose node's state is being edited.

// With a run of its own that may be gone (an Attempt), what Runtime tells was copied, and what it does holds the run
// first.
using engine::enter;

std::string_view Runtime::node() const noexcept {
    if (context_->attempt_apart) return context_->attempt_apart->info().node;
    return context_->env ? std::string_view(context_->env->nodeOf(*context_->task).name) : context_->edited_node;
}
std::int64_t Runtime::step() const noexcept {
    if (context_->attempt_apart) return context_->attempt_apart->info().step;
    return context_->env ? context_->env->place.step : 0;
}
int Runtime::remainingSteps() const noexcept {
    if (context_->attempt_apart) return context_->attempt_apart->info().remaining_steps;
    return context_->env ? context_->env->supersteps.remaining() : 0;
}
int Runtime::attempt() const noexcept { return context_->attempt; }
TaskId Runtime::taskId() const {
    if (context_->attempt_apart) return context_->attempt_apart->info().task_id;
    return context_->env ? context_->env->idOf(*context_->task) : TaskId();
}
std::string_view Runtime::threadId() const noexcept {
    if (context_->attempt_apart) return context_->attempt_apart->info().thread_id;
    return context_->env ? context_->env->shared.config->thread_id.view() : std::string_view();
}
CheckpointId Runtime::checkpointId() const noexcept {
    if (context_->attempt_apart) return context_->attempt_apart->info().checkpoint_id;
    return context_->env ? context_->env->place.checkpoint : CheckpointId();
}
std::string_view Runtime::checkpointNs() const noexcept {
    if (context_->attempt_apart) return context_->attempt_apart->info().checkpoint_ns;
    return context_->env ? std::string_view(context_->env->place.ns) : std::string_view();
}

const RunContext& Runtime::runContext() const noexcept {
    static const engine::Lasting<RunContext> none;
    if (context_->attempt_apart) return context_->attempt_apart->info().context;
    return context_->env ? context_->env->shared.config->context : *none;
}

const void* Runtime::graphState(const void* type) const {
    const auto refuse = [this](const std::string& why) {
        throw InvalidArgumentError("node '" + std::string(node()) + "' asks for its graph's state, " + why,
                                   {.node = std::string(node())});
    };
    if (context_->env == nullptr) refuse("and no run is under way");
    const auto held = enter(*context_);
    if (type != detail::graphSchema(const_cast<Runtime&>(*this)).state().type)
        refuse("which is of another type than the one it asks for");
    return context_->attempt_apart ? context_->attempt_apart->info().state.get() : context_->env->state.values.object();
}

void Runtime::refuseContext() const {
    const std::string who = "node '" + std::string(node()) + "' asks for the run's context, and ";
    throw InvalidArgumentError(
        who + (runContext().empty() ? "the run was given none: set RunConfig::context"
                                    : "RunConfig::context is of another type than the one it asks for"),
        {.node = std::string(node())});
}

bool Runtime::stopRequested() const {
    if (context_->attempt_apart) return context_->attempt_apart->isStopping();
    return context_->env && context_->env->stopStatus();
}

bool Runtime::drainRequested() const {
    const auto held = enter(*context_);
    return context_->env && context_->env->stop && context_->env->stop->drains();
}

void Runtime::heartbeat() {
    if (context_->attempt_apart) context_->attempt_apart->heartbeat();
}

void Runtime::waitFor(std::chrono::milliseconds time) {
    if (time.count() < 0)
        throw InvalidArgumentError("waitFor(" + times::textOf(time) + "): a wait is at least 0 ms",
                                   {.node = std::string(node())});
    const auto until = times::after(engine::Clock::now(), time);
    if (context_->attempt_apart) {
        context_->attempt_apart->sleepUntil(until);
    } else {
        std::this_thread::sleep_until(until);
    }
}

void Runtime::sleepUntil(std::chrono::system_clock::time_point time, std::string_view key) {
    if (key.empty() || key.size() > 190) {
        throw InvalidArgumentError("node '" + std::string(node()) + "' calls sleepUntil with a key of " +
                                   std::to_string(key.size()) + " bytes; give each sleep a name of 1 to 190");
    }
    std::int64_t now_ms = 0;
    {
        const auto held = enter(*context_);
        if (context_->env == nullptr)
            throw InvalidUpdateError("a router cannot sleep while its node's state is edited");
        if (context_->env->shared.saver == nullptr) {
            throw MissingCheckpointerError(
                "node '" + std::string(node()) +
                "' sleeps until a time, and the graph has no checkpointer that could keep the thread until then");
        }
        now_ms = times::nowMs(context_->env->ids.source());
    }
    detail::Effect effect(*this, "sleep:" + std::string(key));
    if (!effect.result()) effect.finish(Value(times::unixMs(time)));
    const auto wake_ms = effect.result()->as<std::int64_t>();
    if (now_ms < wake_ms) throw detail::SleepSignal{wake_ms};
}

void Runtime::write(const Value& data) {
    const auto held = enter(*context_);
    if (context_->env) context_->env->teller.custom(*context_->task, data);
}

void Runtime::emitMessage(const Value& part) {
    const auto held = enter(*context_);
    if (context_->env) context_->env->teller.messagePart(*context_->task, context_->attempt, part);
}

bool Runtime::wantsMessages() const {
    const auto held = enter(*context_);
    return context_->env && context_->env->teller.wants(StreamMode::messages);
}

BaseStore& Runtime::store() const {
    BaseStore* found = context_->edited_store;
    if (context_->attempt_apart) {
        const auto held = enter(*context_);
        found = context_->attempt_apart->info().store.get();
    } else if (context_->env) {
        found = context_->env->store().get();
    }
    if (found != nullptr) return *found;
    throw MissingStoreError("node '" + std::string(node()) +
                            "' uses the store, and the graph has none; give it one with "
                            "compile({.store = std::make_shared<MemoryStore>()})");
}

std::string Runtime::idempotencyKey(std::string_view key) const {
    const auto held = enter(*context_);
    if (context_->env == nullptr)
        throw InvalidUpdateError("a router has no idempotency key while its node's state is edited");
    TaskId id = context_->env->idOf(*context_->task);
    // Without a saver nothing but the run tells its tasks from those of others.
    if (context_->env->shared.saver == nullptr) {
        std::atomic<std::uint64_t>& bits = context_->env->shared.run_bits;
        std::uint64_t none = 0;
        if (bits.load() == 0) bits.compare_exchange_strong(none, context_->env->core().ids().uniqueBits() | 1U);
        id = engine::nameWithin(id, std::to_string(bits.load()));
    } else {
        id = engine::nameWithin(
            id, context_->env->shared.config->thread_id.view());  // a copied thread has tasks of the same ids
    }
    std::string text = id.toString();
    if (!key.empty()) text += ":" + std::string(key);
    return text;
}

namespace detail {

Effect::Effect(Runtime& runtime, std::string_view key) : runtime_(runtime), key_(key) {
    const auto held = enter(runtime.taskContext());
    if (runtime.taskContext().env == nullptr)
        throw InvalidUpdateError("a router can have no effects while its node's state is edited");
    if (key.empty() || key.size() > 200) {
        throw InvalidArgumentError("node '" + std::string(runtime.node()) + "' calls once with a key of " +
                                   std::to_string(key.size()) + " bytes; give each effect a name of 1 to 200");
    }
    path_ = checkpoint::effectPath(runtime.taskId(), key);
    engine::Effects::Entry entry = runtime.taskContext().env->shared.effects.find(path_);
    begun_ = entry.begun;
    if (entry.result) result_ = Value::fromCbor(std::move(*entry.result));
}

// Not the task's: which of its questions come before may change, and the effect's must not.
TaskId Effect::questionId() const { return engine::nameWithin(runtime_.taskId(), key_); }

std::optional<Value> Effect::ask() {
    TaskContext& context = runtime_.taskContext();
    const auto held = enter(context);
    if (context.env->shared.saver == nullptr) {
        throw MissingCheckpointerError(
            "node '" + std::string(runtime_.node()) + "' asks about the effect '" + key_ +
            "', and the graph has no checkpointer that could keep the run until an answer comes");
    }
    const auto answer = engine::TaskQuestions(*context.env, *context.task).findAnswer(questionId(), begun_);
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

void Effect::begin() {
    const auto held = enter(runtime_.taskContext());
    runtime_.taskContext().env->storeEffect(path_, {.begun = ++begun_, .result = {}});
}

void Effect::finish(Value result) {
    const auto held = enter(runtime_.taskContext());
    runtime_.taskContext().env->storeEffect(path_, {.begun = begun_, .result = std::string(result.bytes())});
    result_ = std::move(result);
}

void Effect::wrongType(const WrongTypeError& why) const {
    throw WrongTypeError("the stored result of the effect '" + key_ + "' is not what node '" +
                         std::string(runtime_.node()) + "' takes now: " + why.message());
}

void Effect::refuse(const std::string& why) const {
    throw RefusedAnswerSignal{questionId(), begun_,
                              "the answer about the effect '" + key_ + "' of node '" + std::string(runtime_.node()) +
                                  "' is not one: " + why + "; the interrupt stays open"};
}

bool hasPayload(Runtime& runtime) noexcept { return runtime.taskContext().has_payload; }

const Schema& graphSchema(Runtime& runtime) noexcept {
    const TaskContext& context = runtime.taskContext();
    return context.attempt_apart ? context.attempt_apart->core().schema() : context.env->core().schema();
}

}  // namespace detail

std::stop_token stopToken(Runtime& runtime) {
    const detail::TaskContext& context = runtime.taskContext();
    if (context.attempt_apart) return context.attempt_apart->token();
    return context.env && context.env->stop ? context.env->stop->token() : std::stop_token();
}

}  // namespace stategraph
