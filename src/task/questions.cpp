#include <stategraph/detail/stop_on_return.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>
#include <stategraph/runtime.hpp>

#include <utility>

#include "src/superstep/task_context.hpp"
#include "src/task/questions.hpp"
#include "src/task/task_questions.hpp"

// Asks a node's questions (interrupt), and determines which answer belongs to which.
namespace stategraph {
namespace {

thread_local detail::CallQuestions* innermost_call = nullptr;

constexpr std::size_t question_key_bytes_max = 200;

}  // namespace

namespace engine {

bool isRefusal(std::string_view error) noexcept {
    return error.find("the interrupt stays open") != std::string_view::npos;
}

}  // namespace engine

namespace detail {

namespace {

// Guards the lists of functions that are coroutines, of all tasks: those of one task resume on several threads. They
// change when effects begin and end.
Mutex& awaitedMutex() noexcept {
    static constinit Mutex mutex;
    return mutex;
}

}  // namespace

CallQuestions::CallQuestions(const Effect& effect, Of part)
    : effect_(effect), context_(&effect.runtime_.taskContext()), part_(part) {
    if (part_ == Of::awaited) {
        const LockGuard lock(awaitedMutex());
        outer_ = std::exchange(context_->awaited_calls, this);
    } else {
        outer_ = std::exchange(innermost_call, this);
    }
}

TaskId CallQuestions::id() const {
    return engine::nameWithin(effect_.questionId(), part_ == Of::check ? "check" : "call");
}

CallQuestions::~CallQuestions() {
    if (part_ != Of::awaited) {
        innermost_call = outer_;
        return;
    }
    const LockGuard lock(awaitedMutex());
    CallQuestions** place = &context_->awaited_calls;
    while (*place != this) place = &(*place)->outer_;  // they end in any order
    *place = outer_;
}

/// The next question of a task: to whom it belongs, and where it is counted.
struct Questions {
    // Returns the function that asks, or null if the node itself does. A thread may wait in one task's function and do
    // another one's work meanwhile.
    static CallQuestions* callOf(const TaskContext& context) noexcept {
        CallQuestions* call = innermost_call;
        while (call != nullptr && call->context_ != &context) call = call->outer_;
        if (call != nullptr) return call;
        const LockGuard lock(awaitedMutex());
        return context.awaited_calls;
    }

    // If several coroutines are under way, it is not known which of them asks.
    static void check(const TaskContext& context, const Runtime& runtime) {
        const CallQuestions* const call = callOf(context);
        if (call == nullptr || call->part_ != CallQuestions::Of::awaited) return;
        {
            const LockGuard lock(awaitedMutex());
            if (context.awaited_calls == nullptr || context.awaited_calls->outer_ == nullptr) return;
        }
        throw InvalidUpdateError("node '" + std::string(runtime.node()) +
                                     "' asks while it awaits several effects (onceAsync): await the effect that asks "
                                     "by itself, or ask outside of it",
                                 {.node = std::string(runtime.node())});
    }

    /// The next question without a key, and who counts it.
    struct Counted {
        TaskId asker;
        std::uint64_t& number;

        Interrupt question(std::uint64_t at) const { return {engine::idOfQuestion(asker, at), at, {}}; }
        Interrupt next() const { return question(number); }
        Interrupt last() const { return question(number - 1); }
    };

    static Counted counted(TaskContext& context, const TaskId& task) {
        CallQuestions* const call = callOf(context);
        if (call == nullptr) return {task, context.calls};
        return {call->id(), call->asked_};
    }

    static std::optional<GivenAnswer> given(const engine::TaskQuestions& questions, const Interrupt& asked,
                                            TaskId asker) {
        bool is_new = true;
        auto answer = questions.findAnswer(asked, asker, &is_new);
        if (!answer) return {};
        return GivenAnswer{std::move(*answer), is_new};
    }

    static Interrupt withKey(const TaskContext& context, const TaskId& task, std::string_view key) {
        const CallQuestions* const call = callOf(context);
        TaskId asker = call == nullptr ? task : call->id();
        if (call == nullptr && context.failure != nullptr)
            asker = engine::idOfQuestion(task, std::string_view());  // an error handler differs from its node
        return {engine::idOfQuestion(asker, key), 0, {}, std::string(key)};
    }

    static void restart(const TaskContext& context) noexcept {
        if (CallQuestions* const call = callOf(context)) call->asked_ = 0;
    }
};

void restartQuestions(Runtime& runtime) noexcept { Questions::restart(runtime.taskContext()); }

namespace {

void checkMayAsk(Runtime& runtime, const engine::HeldRun& held) {
    // A subgraph without a saver may still ask, because the outer run stores the question.
    if (held.env->shared.saver == nullptr) {
        throw MissingCheckpointerError("node '" + std::string(runtime.node()) +
                                       "' asks for an answer, and the graph has no checkpointer that could keep the "
                                       "run until it comes; give it one "
                                       "with CompileOptions::checkpointer");
    }
    Questions::check(runtime.taskContext(), runtime);
}

void checkKey(const Runtime& runtime, std::string_view key) {
    const auto refuse = [&](const std::string& why) {
        throw InvalidArgumentError("node '" + std::string(runtime.node()) + "' asks with a key that " + why +
                                       "; give each question a text of 1 to " + std::to_string(question_key_bytes_max) +
                                       " bytes",
                                   {.node = std::string(runtime.node())});
    };
    if (key.empty() || key.size() > question_key_bytes_max) refuse("has " + std::to_string(key.size()) + " bytes");
    if (!isUtf8(key)) refuse("is not UTF-8");
}

}  // namespace

GivenAnswer ask(Runtime& runtime, Value question, AnswerCheck check) {
    TaskContext& context = runtime.taskContext();
    const auto held = context.holdFor("cannot ask");
    checkMayAsk(runtime, held);
    engine::TaskQuestions questions(*held.env, *held.task);
    const auto counted = Questions::counted(context, runtime.taskId());
    Interrupt asked = counted.next();
    ++counted.number;
    if (auto answer = Questions::given(questions, asked, counted.asker)) return std::move(*answer);
    asked.value = std::move(question);
    questions.noteCheck(asked, std::string(runtime.node()), check);
    throw InterruptSignal{std::move(asked)};
}

std::optional<GivenAnswer> askAlso(Runtime& runtime, std::string_view key, Value question, AnswerCheck check) {
    TaskContext& context = runtime.taskContext();
    const auto held = context.holdFor("cannot ask");
    checkKey(runtime, key);
    checkMayAsk(runtime, held);
    engine::TaskQuestions questions(*held.env, *held.task);
    Interrupt asked = Questions::withKey(context, runtime.taskId(), key);
    if (auto answer = Questions::given(questions, asked, asked.id)) return answer;
    asked.value = std::move(question);
    questions.noteCheck(asked, std::string(runtime.node()), check);
    questions.noteAsked(asked);
    return {};
}

GivenAnswer ask(Runtime& runtime, std::string_view key, Value question, AnswerCheck check) {
    if (auto answer = askAlso(runtime, key, std::move(question), check)) return std::move(*answer);
    const TaskContext& context = runtime.taskContext();
    const auto held = context.hold();
    throw InterruptSignal{
        engine::TaskQuestions(*held.env, *held.task).askedOf(Questions::withKey(context, runtime.taskId(), key).id)};
}

std::optional<Value> answerOfNode(Runtime& runtime, std::string_view key) {
    const auto held = runtime.taskContext().hold();
    if (held.env == nullptr) return {};
    const TaskId asked = engine::idOfQuestion(runtime.taskId(), key);
    return engine::TaskQuestions(*held.env, *held.task).findAnswer({asked, 0, {}, std::string(key)}, asked);
}

std::optional<GivenAnswer> findAnswer(Runtime& runtime, const std::string_view* key) {
    TaskContext& context = runtime.taskContext();
    const auto held = context.hold();
    if (key != nullptr) checkKey(runtime, *key);
    if (held.env == nullptr) return {};
    Questions::check(context, runtime);
    const engine::TaskQuestions questions(*held.env, *held.task);
    if (key != nullptr) {
        const Interrupt asked = Questions::withKey(context, runtime.taskId(), *key);
        return Questions::given(questions, asked, asked.id);
    }
    const auto counted = Questions::counted(context, runtime.taskId());
    return Questions::given(questions, counted.next(), counted.asker);
}

namespace {

[[noreturn]] void refuse(const Runtime& runtime, const Interrupt& asked, const WrongTypeError& why) {
    throw RefusedAnswerSignal{asked.id, asked.index,
                              engine::refusedAnswer(std::string(runtime.node()), asked.key, why)};
}

}  // namespace

void refuseLastAnswer(Runtime& runtime, const WrongTypeError& why) {
    refuse(runtime, Questions::counted(runtime.taskContext(), runtime.taskId()).last(), why);
}

void refuseAnswer(Runtime& runtime, const std::string_view* key, const WrongTypeError& why) {
    TaskContext& context = runtime.taskContext();
    refuse(runtime,
           key != nullptr ? Questions::withKey(context, runtime.taskId(), *key)
                          : Questions::counted(context, runtime.taskId()).next(),
           why);
}

}  // namespace detail

namespace {

// Nothing of this needs to be destroyed when the result is thrown, which makes the throw cheap.
detail::InterruptSignal firstQuestion(Runtime& runtime) {
    const auto held = runtime.taskContext().hold();
    auto asked = held.env != nullptr ? engine::TaskQuestions(*held.env, *held.task).firstAsked() : std::nullopt;
    if (!asked) {
        throw InvalidUpdateError(
            "node '" + std::string(runtime.node()) + "' stops for answers, and has asked nothing: ask first (sg::ask)",
            {.node = std::string(runtime.node())});
    }
    return {std::move(*asked)};
}

}  // namespace

void stopForAnswers(Runtime& runtime) { throw firstQuestion(runtime); }

void detail::stopOnReturn(Runtime& runtime) {
    (void)firstQuestion(runtime);
    const auto held = runtime.taskContext().hold();
    engine::TaskQuestions(*held.env, *held.task).noteStop();
}

}  // namespace stategraph
