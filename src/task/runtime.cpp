#include <stategraph/runtime.hpp>

#include <chrono>
#include <map>

#include <stategraph/control.hpp>
#include <stategraph/detail/abandoned.hpp>
#include <stategraph/detail/doubt.hpp>
#include <stategraph/detail/parting.hpp>

#include "src/checkpoint/paths.hpp"
#include "src/superstep/task_context.hpp"
#include "src/task/task_questions.hpp"
#include "src/value/times.hpp"

namespace stategraph {

std::string_view Runtime::node() const noexcept { return context_->node(); }
std::int64_t Runtime::step() const noexcept { return context_->step(); }
int Runtime::remainingSteps() const noexcept { return context_->remainingSteps(); }
int Runtime::attempt() const noexcept { return context_->attempt; }
TaskId Runtime::taskId() const { return context_->taskId(); }
std::string_view Runtime::threadId() const noexcept { return context_->threadId(); }
CheckpointId Runtime::checkpointId() const noexcept { return context_->checkpointId(); }
std::string_view Runtime::checkpointNs() const noexcept { return context_->checkpointNs(); }
const RunContext& Runtime::runContext() const noexcept { return context_->runContext(); }
const void* Runtime::graphState(const void* type) const { return context_->state(type); }
bool Runtime::stopRequested() const { return context_->stopRequested(); }
bool Runtime::drainRequested() const { return context_->drainRequested(); }
void Runtime::requestDrain() { context_->holdFor("cannot end its run").env->requestEnd(Status::drained); }
void Runtime::heartbeat() { context_->heartbeat(); }
void Runtime::write(const Value& data) { context_->write(data); }
void Runtime::emitMessage(const Value& part) { context_->emitMessage(part); }
bool Runtime::wantsMessages() const { return context_->wants(StreamMode::messages); }

void Runtime::refuseContext() const {
    const std::string who = "node '" + std::string(node()) + "' asks for the run's context, and ";
    throw InvalidArgumentError(
        who + (runContext().empty() ? "the run was given none: set RunConfig::context"
                                    : "RunConfig::context is of another type than the one it asks for"),
        {.node = std::string(node())});
}

void Runtime::waitFor(std::chrono::milliseconds time) {
    if (time.count() < 0)
        throw InvalidArgumentError("waitFor(" + times::textOf(time) + "): a wait is at least 0 ms",
                                   {.node = std::string(node())});
    context_->sleepUntil(times::after(engine::Clock::now(), time));
}

void Runtime::sleepUntil(std::chrono::system_clock::time_point time, std::string_view key) {
    if (key.empty() || key.size() > 190) {
        throw InvalidArgumentError("node '" + std::string(node()) + "' calls sleepUntil with a key of " +
                                   std::to_string(key.size()) + " bytes; give each sleep a name of 1 to 190");
    }
    std::int64_t now_ms = 0;
    {
        const auto held = context_->holdFor("cannot sleep");
        if (held.env->shared.saver == nullptr) {
            throw MissingCheckpointerError(
                "node '" + std::string(node()) +
                "' sleeps until a time, and the graph has no checkpointer that could keep the thread until then");
        }
        now_ms = times::nowMs(held.env->ids.source());
    }
    detail::Effect effect(*this, "sleep:" + std::string(key));
    if (!effect.result()) effect.finish(Value(times::unixMs(time)));
    const auto wake_ms = effect.result()->as<std::int64_t>();
    if (now_ms < wake_ms) throw detail::SleepSignal{wake_ms};
}

BaseStore& Runtime::store() const {
    if (BaseStore* const found = context_->store()) return *found;
    throw MissingStoreError("node '" + std::string(node()) +
                            "' uses the store, and the graph has none; give it one with "
                            "compile({.store = std::make_shared<MemoryStore>()})");
}

std::string Runtime::idempotencyKey(std::string_view key) const {
    const auto held = context_->holdFor("has no idempotency key");
    engine::RunShared& shared = held.env->shared;
    TaskId id = held.env->idOf(*held.task);
    // Without a saver, only the run distinguishes its tasks from those of other runs.
    if (shared.saver == nullptr) {
        std::atomic<std::uint64_t>& bits = shared.run_bits;
        std::uint64_t none = 0;
        if (bits.load() == 0) bits.compare_exchange_strong(none, held.env->ids.source().uniqueBits() | 1U);
        id = engine::nameWithin(id, std::to_string(bits.load()));
    } else {
        id = engine::nameWithin(id, shared.config->thread_id.view());  // a copied thread has tasks with the same ids
    }
    std::string text = id.toString();
    if (!key.empty()) text += ":" + std::string(key);
    return text;
}

namespace detail {
namespace {

// Returns the question whether an effect has happened, which was begun so often.
Interrupt questionAbout(TaskId effect, std::uint64_t begun) { return {engine::idOfQuestion(effect, begun), begun, {}}; }

}  // namespace

Effect::Effect(Runtime& runtime, std::string_view key) : runtime_(runtime), key_(key) {
    const auto held = runtime.taskContext().holdFor("can have no effects");
    if (key.empty() || key.size() > 200) {
        throw InvalidArgumentError("node '" + std::string(runtime.node()) + "' calls once with a key of " +
                                   std::to_string(key.size()) + " bytes; give each effect a name of 1 to 200");
    }
    path_ = checkpoint::effectPath(runtime.taskId(), key);
    engine::Effects::Entry entry = held.env->shared.effects.find(path_);
    begun_ = entry.begun;
    if (entry.result) result_ = Value::fromCbor(std::move(*entry.result));
    if (!result_ && held.env->stop != nullptr && !held.env->stop->mayAct())
        throw LeaseLostError("the effect '" + key_ + "' of node '" + std::string(runtime.node()) +
                                 "' was not begun: the lease on the thread has ended by this process's clock, so "
                                 "another worker may have the thread. The run ends; its new owner continues it",
                             {.thread_id = std::string(runtime.threadId())});
}

std::vector<AbandonedTask> abandonedTasks(Runtime& runtime) {
    return runtime.taskContext().hold().env->shared.abandoned;
}

void leaveAtStop(Runtime& runtime, std::shared_ptr<Parting> parting) {
    const auto held = runtime.taskContext().hold();
    if (held.env == nullptr || held.env->stop == nullptr) return;  // nothing stops it
    engine::TaskExtra& extra = held.task->useExtra();
    extra.parting = std::move(parting);
    extra.parting_of = runtime.attempt();
}

std::unique_lock<std::recursive_mutex> heldAttempt(Runtime& runtime) {
    return std::move(runtime.taskContext().hold().lock);
}

void describeDoubt(Runtime& runtime, Value about) {
    const auto held = runtime.taskContext().hold();
    held.task->useExtra().about_effects = std::move(about);
}

// The effect's questions do not use the task's id: which questions the task asks before them may change, and their
// numbers must not change with that.
TaskId Effect::questionId() const { return engine::nameWithin(runtime_.taskId(), key_); }

std::optional<Value> Effect::ask() {
    const auto held = runtime_.taskContext().hold();
    if (held.env->shared.saver == nullptr) {
        throw MissingCheckpointerError(
            "node '" + std::string(runtime_.node()) + "' asks about the effect '" + key_ +
            "', and the graph has no checkpointer that could keep the run until an answer comes");
    }
    Interrupt asked = questionAbout(questionId(), begun_);
    const auto answer = engine::TaskQuestions(*held.env, *held.task).findAnswer(asked, questionId());
    if (!answer) {
        std::map<std::string, Value> question;
        if (const Value& about = held.task->extra().about_effects; !about.isNull())
            question = about.as<std::map<std::string, Value>>();
        question.insert_or_assign("node", Value(std::string(runtime_.node())));
        question.insert_or_assign("effect", Value(key_));
        question.insert_or_assign("idempotency_key", Value(runtime_.idempotencyKey(key_)));
        asked.value = Value(question);
        throw InterruptSignal{std::move(asked)};
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
    const auto held = runtime_.taskContext().hold();
    held.env->storeEffect(path_, {.begun = ++begun_, .result = {}});
}

void Effect::finish(Value result) {
    const auto held = runtime_.taskContext().hold();
    held.env->storeEffect(path_, {.begun = begun_, .result = std::string(result.bytes())});
    result_ = std::move(result);
}

std::shared_ptr<engine::EffectPut> Effect::beginLater() {
    const auto held = runtime_.taskContext().hold();
    return held.env->storeEffectLater(path_, {.begun = ++begun_, .result = {}});
}

std::shared_ptr<engine::EffectPut> Effect::finishLater(Value result) {
    const auto held = runtime_.taskContext().hold();
    auto put = held.env->storeEffectLater(path_, {.begun = begun_, .result = std::string(result.bytes())});
    result_ = std::move(result);
    return put;
}

void Effect::wrongType(const WrongTypeError& why) const {
    throw WrongTypeError("the stored result of the effect '" + key_ + "' is not what node '" +
                         std::string(runtime_.node()) + "' takes now: " + why.message());
}

void Effect::refuse(const std::string& why) const {
    const Interrupt asked = questionAbout(questionId(), begun_);
    throw RefusedAnswerSignal{asked.id, asked.index,
                              "the answer about the effect '" + key_ + "' of node '" + std::string(runtime_.node()) +
                                  "' is not one: " + why + "; the interrupt stays open"};
}

bool hasPayload(Runtime& runtime) noexcept { return runtime.taskContext().has_payload; }

const Schema& graphSchema(Runtime& runtime) noexcept { return runtime.taskContext().core().schema(); }

}  // namespace detail

std::stop_token stopToken(Runtime& runtime) { return runtime.taskContext().stopToken(); }

}  // namespace stategraph
