#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stategraph/config.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/opt_in.hpp>
#include <stategraph/detail/value_ops.hpp>
#include <stategraph/error.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/value.hpp>

namespace stategraph::engine {
class EffectPut;
}

// Everything that a node may ask of its run, each with its contract. The file is longer than others, so that they are
// in one place.
namespace stategraph {

class BaseStore;
template <class S, class Input, class Output>
class CompiledGraph;
template <class S>
class Update;

namespace detail {
class Schema;
struct TaskContext;
}  // namespace detail

/// What to do about an effect that was begun and whose end is unknown, because the process died in between or the
/// function threw.
enum class OnDoubt : std::uint8_t {
    repeat,  // call the function again; for effects that may happen twice, or whose receiver knows the idempotency key
    ask,     // ask with an interrupt: the answer is {"result": value} if it happened, "repeat" to do it again
    /// As `repeat`, but the effect is not claimed: that it begins is not stored, which saves one pending write. Two
    /// processes that run the thread at the same time may then both call the function. For functions without effects.
    repeat_unclaimed,
};

/// What a node may ask of its run. Valid during the node's call, on the thread of the call; for a coroutine, until it
/// ends.
class Runtime {
public:
    explicit Runtime(detail::TaskContext& context) noexcept : context_(&context) {}
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    /// The name of the node.
    std::string_view node() const noexcept;
    /// The number of the superstep, as in the metadata of checkpoints.
    std::int64_t step() const noexcept;
    /// How many supersteps are left before the recursion limit, including this one.
    int remainingSteps() const noexcept;
    /// Whether this superstep is the last one that the recursion limit allows.
    bool isLastStep() const noexcept { return remainingSteps() == 1; }
    /// The number of the attempt, from 1.
    int attempt() const noexcept;
    /// The id of the task, which is the same in every attempt and in every process.
    TaskId taskId() const;
    /// The thread of the run; empty if the run has none.
    std::string_view threadId() const noexcept;
    /// The checkpoint whose superstep is running; none without a saver.
    CheckpointId checkpointId() const noexcept;
    /// The namespace of the graph's log, which is empty for the root graph.
    std::string_view checkpointNs() const noexcept;

    /// The value of RunConfig::context. Errors: InvalidArgumentError if the run was given none, or one of another type.
    template <class T>
    const T& context() const {
        const T* found = runContext().template get<T>();
        if (found == nullptr) refuseContext();
        return *found;
    }

    /// The graph's state at the beginning of the superstep, for nodes that take a Send's payload or a part of the
    /// state: what its other tasks write is not in it. Valid during the node's call. Errors: InvalidArgumentError for
    /// another type than the graph's state, or while no run is under way (a router that an edit asks). Cost: none.
    template <class S>
    const S& state() const {
        return *static_cast<const S*>(graphState(detail::typeKey<S>()));
    }

    /// Whether the run (RunControl::requestStop, RunConfig::timeout) or this attempt is to end; the results of the node
    /// are then discarded. `stopToken(Runtime&)` of stategraph/control.hpp gives the same to what a node waits for.
    bool stopRequested() const;
    /// Whether the run is to end after this superstep (RunControl::requestDrain, requestDrain).
    bool drainRequested() const;
    /// Has the whole run end when this superstep is done and committed, with Status::drained, as
    /// RunControl::requestDrain does from outside. If nothing is due then, the run ends as it would have. The request
    /// stays if the attempt fails and is tried again. A worker continues such a run with its next claim. Errors:
    /// CancelledError if the attempt was abandoned; InvalidUpdateError in a router that an edit asks.
    void requestDrain();
    /// Reports that the node makes progress (NodeOptions::idle_timeout). Throws CancelledError if the attempt was
    /// abandoned.
    void heartbeat();
    /// Waits, and throws CancelledError if the run or the attempt is to end before. The thread is blocked meanwhile.
    /// Errors: InvalidArgumentError for a negative time.
    void waitFor(std::chrono::milliseconds time);
    /// Suspends the thread until a time. The first call stops the run with Status::sleeping, and nothing stays in
    /// memory. `recover()` in any process, or RESUME, continues it when the time has come; then the node runs again
    /// from its beginning, and this call returns. The time of the first call counts, rounded up to whole milliseconds;
    /// several sleeps of a node have different keys. Errors: MissingCheckpointerError without a saver;
    /// InvalidArgumentError for a key that is empty or longer than 190 bytes.
    void sleepUntil(std::chrono::system_clock::time_point time, std::string_view key = "sleep");

    /// Puts a value into the run's stream, for readers that requested `custom`; without one it does nothing.
    void write(const Value& data);
    /// Puts a part of a message, such as a few tokens, into the run's stream, for readers that requested `messages`;
    /// without one it does nothing. Give a Message, or a Value that is a map, whose "id" is that of the whole message:
    /// what the node writes to a channel with `addMessages` under this id is then not reported again. Parts are never
    /// stored.
    void emitMessage(const Value& part);
    /// Whether the run's stream has a reader of `messages` now. False: emitMessage would do nothing, so a part need not
    /// be created. A reader may come later (StreamHub), so ask before each part. Cost: a few loads.
    bool wantsMessages() const;

    /// Calls `fn` once for this task and `key`, however often the node runs: in retries, when the run is resumed, after
    /// a crash. That it begins is stored before, only if nobody else has begun it since this run read the thread;
    /// otherwise ConcurrentUpdateError is thrown and the run ends. What it returned (anything storable, or nothing) is
    /// stored before this returns, and is returned from then on.
    ///
    /// Effects are distinguished by their keys and not by their order, so a node's code may change meanwhile; a second
    /// call with a key returns the first one's result. An effect whose end is not known (OnDoubt) never counts as done:
    /// to happen exactly once, it needs the help of the receiver, which can be given `idempotencyKey(key)`. With
    /// durability `exit`, or without a saver, results last as long as the run. Errors: InvalidArgumentError for a key
    /// that is empty or longer than 200 bytes; WrongTypeError if the stored result is of another type; SaverError.
    /// Cost: two pending writes, one after the other; one with `repeat_unclaimed`.
    template <class F>
    std::invoke_result_t<F&> once(std::string_view key, F&& fn, OnDoubt on_doubt = OnDoubt::repeat);
    /// `once` with a check: if it is not known whether the effect happened, `check` finds out: it returns an optional
    /// of the result (or a bool for an effect without one). If the effect did not happen, `fn` is called.
    template <class F, class Check>
        requires std::is_invocable_v<Check&>
    std::invoke_result_t<F&> once(std::string_view key, F&& fn, Check&& check);
    /// Never called: it explains that an effect has a key.
    template <class F>
    std::invoke_result_t<F&> once(F&&) {
        static_assert(detail::never<F>, "stategraph: an effect has a key: runtime.once(\"charge\", function)");
        throw;
    }

    /// Runs another graph inside this task, to its end, and returns its output. The run is part of this one, as that of
    /// a graph that is a node is: its checkpoints are stored in a log of their own below the task, its questions are
    /// open questions of this thread, its events are in this run's stream with their namespace, and stops, limits and
    /// durability reach it. A saver of its own is not used.
    ///
    /// Calls are distinguished by their keys, so a loop gives each of its calls another key. When the node runs again
    /// (a retry, a resume, after a crash), a call that has ended returns its stored result without running, and one
    /// that has not continues inside; so does a second call with a key. The rest of the node's code is executed again.
    /// If the graph inside pauses, this does not return: the node is left through an exception of the library, which
    /// `catch (const std::exception&)` does not catch. Errors: what the run fails with (NodeError, GraphRecursionError,
    /// …); InvalidArgumentError for a key that is not a text of 1 to 200 bytes of UTF-8, or a graph that was compiled
    /// with PER_THREAD or perThread; InvalidUpdateError while a call with the same key is under way. Cost: that of the
    /// run, and one pending write that holds the output. It blocks; coroutines await `asyncInvoke`.
    template <class S, class Input, class Output>
    Output invoke(const CompiledGraph<S, Input, Output>& graph, std::type_identity_t<Update<Input>> input,
                  std::string_view key);
    /// Never called: it explains that a call has a key.
    template <class S, class Input, class Output>
    Output invoke(const CompiledGraph<S, Input, Output>&, const std::type_identity_t<Update<Input>>&) {
        static_assert(detail::never<S>, "stategraph: a call has a key: runtime.invoke(graph, input, \"research\")");
        throw;
    }
    /// `invoke` for coroutines; include <stategraph/async.hpp>. For several at once use `sg::whenAll`.
    template <class S, class Input, class Output>
    Task<Output> asyncInvoke(const CompiledGraph<S, Input, Output>& graph, Update<Input> input, std::string key);

    /// The graph's store (CompileOptions::store); in a subgraph without one of its own, that of the graph around it.
    /// Changes to it are effects like any other: they are not undone if the node fails, and are made again if the node
    /// runs again. Throws MissingStoreError if there is none.
    BaseStore& store() const;

    /// A text that names this task, or one effect of it: the same in every retry and every process, another one for
    /// every other task.
    std::string idempotencyKey(std::string_view key = {}) const;

    detail::TaskContext& taskContext() noexcept { return *context_; }

private:
    const RunContext& runContext() const noexcept;
    [[noreturn]] void refuseContext() const;
    const void* graphState(const void* type) const;

    detail::TaskContext* context_;
};

namespace detail {
/// Throws WrongTypeError if an answer is not what the node asks for.
using AnswerCheck = void (*)(const Value& answer);
template <class T>
void checkAnswer(const Value& answer) {
    (void)answer.template asStrict<T>();
}
/// Returns the check for answers of a type. Null: every value is accepted.
template <class T>
constexpr AnswerCheck answerCheck() noexcept {
    if constexpr (std::is_same_v<T, Value>) {
        return nullptr;
    } else {
        return &checkAnswer<T>;
    }
}

struct GivenAnswer {
    Value value;
    bool is_new;  // no attempt is known to have taken it: it is checked like input from outside

    template <class T>
    T as() && {
        if constexpr (std::is_same_v<T, Value>) {
            return std::move(value);
        } else {
            return is_new ? value.template asStrict<T>() : value.template as<T>();
        }
    }
};

/// The answer to the task's next question without a key. Throws a private type, through the node, if there is none yet.
/// `check` is kept with the question, so that a wrong answer is refused before it is stored.
GivenAnswer ask(Runtime& runtime, Value question, AnswerCheck check);
/// Does the same for the question with this key.
GivenAnswer ask(Runtime& runtime, std::string_view key, Value question, AnswerCheck check);
/// The answer to the question with this key; none: the question is open as soon as the node stops.
std::optional<GivenAnswer> askAlso(Runtime& runtime, std::string_view key, Value question, AnswerCheck check);
/// The answer to the question with this key (null: to the next one without a key), if it exists. Asks and counts
/// nothing.
std::optional<GivenAnswer> findAnswer(Runtime& runtime, const std::string_view* key);
/// Whether the node's input is a Send's payload, and not the state.
bool hasPayload(Runtime& runtime) noexcept;
/// The schema of the graph that the node is in.
const Schema& graphSchema(Runtime& runtime) noexcept;
/// One effect of a task, during a call of `once`.
class Effect {
public:
    Effect(Runtime& runtime, std::string_view key);
    /// None if the effect is not known to have happened.
    const std::optional<Value>& result() const noexcept { return result_; }
    bool inDoubt() const noexcept { return begun_ > 0 && !result_; }
    /// The answer of the person who was asked: the result, or none to repeat. If there is no answer yet, it throws a
    /// private type through the node.
    std::optional<Value> ask();
    /// Checks that an answer is a T. If not, the answer is withdrawn, the question stays open and the run ends with the
    /// error.
    template <class T>
    void accept(const Value& answer) {
        try {
            (void)answer.template asStrict<T>();
        } catch (const WrongTypeError& why) {
            refuse(why.message());
        }
    }
    /// Stores that the effect is about to be performed.
    void begin();
    void finish(Value result);
    /// These do the same for coroutines. If the saver answers later, they return what is to be awaited (EffectStored);
    /// otherwise it is stored already, and they return null.
    std::shared_ptr<engine::EffectPut> beginLater();
    std::shared_ptr<engine::EffectPut> finishLater(Value result);
    [[noreturn]] void wrongType(const WrongTypeError& why) const;
    [[noreturn]] void refuse(const std::string& why) const;

private:
    friend class CallQuestions;
    TaskId questionId() const;
    Runtime& runtime_;
    std::string key_;
    std::string path_;
    std::uint64_t begun_ = 0;
    std::optional<Value> result_;
};

/// Exists while a function that `once` was given runs, on its thread. The questions of the function are counted
/// separately: the function is not called again once its result is known, and the questions after it must keep their
/// answers.
class CallQuestions {
public:
    enum class Of : std::uint8_t {
        function,
        check,
        awaited,  // a function that is a coroutine, whose thread may change
    };
    explicit CallQuestions(const Effect& effect, Of part = Of::function);
    ~CallQuestions();
    CallQuestions(const CallQuestions&) = delete;
    CallQuestions& operator=(const CallQuestions&) = delete;

private:
    friend struct Questions;
    TaskId id() const;  // the id of its questions; computed on demand, as few functions ask any
    const Effect& effect_;
    TaskContext* context_;
    Of part_;
    CallQuestions* outer_;
    std::uint64_t asked_ = 0;  // how many it has asked in this attempt
};

template <class T>
T resultOf(const Effect& effect) {
    if constexpr (!std::is_void_v<T>) {
        try {
            return effect.result()->template as<T>();
        } catch (const WrongTypeError& why) {
            effect.wrongType(why);
        }
    }
}

template <class T, class F>
T perform(Effect& effect, F& fn) {
    const auto call = [&]() -> T {
        const CallQuestions questions(effect);
        return fn();
    };
    if constexpr (std::is_void_v<T>) {
        call();
        effect.finish({});
    } else {
        T result = call();
        effect.finish(Value(result));
        return result;
    }
}

template <class Check>
auto checkDoubt(const Effect& effect, Check& check) {
    const CallQuestions questions(effect, CallQuestions::Of::check);
    return check();
}
/// The last answer has the wrong type: it is withdrawn, and the run ends with this error.
[[noreturn]] void refuseLastAnswer(Runtime& runtime, const WrongTypeError& why);
/// Does the same for an answer that `findAnswer` found.
[[noreturn]] void refuseAnswer(Runtime& runtime, const std::string_view* key, const WrongTypeError& why);

template <class T>
std::optional<T> answerAs(Runtime& runtime, const std::string_view* key) {
    std::optional<GivenAnswer> answer = findAnswer(runtime, key);
    if (!answer) return {};
    try {
        return std::move(*answer).template as<T>();
    } catch (const WrongTypeError& why) {
        refuseAnswer(runtime, key, why);
    }
}
}  // namespace detail

/// Asks a person, or the caller that resumes the run. The first time it stops the run and `question` is shown as an
/// open interrupt; when the run is resumed with an answer the node runs again from its beginning and the same call
/// returns the answer.
///
/// Calls are matched with answers by their order within the node; within a function that `Runtime::once` or
/// `Calls::call` calls, by their order within that function. If the code between them changes in a new version, answers
/// can go to the wrong questions: give such questions keys (below). The code before the call runs again: keep it free
/// of side effects, or call `answerOf` first. Errors: MissingCheckpointerError without a saver.
///
/// An answer must be a T as Value::asStrict reads it. Another one is a WrongTypeError of the call that resumes, and the
/// interrupt stays open: where this process asked the question nothing is stored and nothing runs; otherwise the answer
/// is withdrawn when the node reads it.
template <class T>
T interrupt(Runtime& runtime, const Value& question = {}) {
    detail::GivenAnswer answer = detail::ask(runtime, question, detail::answerCheck<T>());
    try {
        return std::move(answer).template as<T>();
    } catch (const WrongTypeError& why) {
        detail::refuseLastAnswer(runtime, why);
    }
}

/// Never called: it explains what is missing.
template <class T = Value>
T interrupt(...) {
    static_assert(detail::never<T>,
                  "stategraph: sg::interrupt needs the node's Runtime: give the node a second parameter, sg::Runtime& "
                  "runtime, and call sg::interrupt<T>(runtime, question)");
    throw;
}

/// Asks a question with a key, by which the answer is matched: the order of the calls does not matter, and questions
/// with and without keys do not disturb each other. Two calls with one key in a task ask one question, and get the same
/// answer; within a function that `Runtime::once` or `Calls::call` calls keys are that function's own. If a task asks
/// several questions with keys at the same time (in functions that `Calls::start` began), all of them are open. Errors:
/// also InvalidArgumentError for a key that is not a text of 1 to 200 bytes of UTF-8.
template <class T>
T interrupt(Runtime& runtime, std::string_view key, const Value& question) {
    detail::GivenAnswer answer = detail::ask(runtime, key, question, detail::answerCheck<T>());
    try {
        return std::move(answer).template as<T>();
    } catch (const WrongTypeError& why) {
        detail::refuseAnswer(runtime, &key, why);
    }
}

/// An answer of any type.
struct AnyAnswer : Value {
    using Value::Value;
    explicit AnyAnswer(Value answer) : Value(std::move(answer)) {}
    /// Never called: a question must know the type of its answer before it is asked.
    template <class T>
        requires(!std::is_base_of_v<Value, T> && !std::is_pointer_v<T>)
    operator T() const {
        static_assert(detail::never<T>,
                      "stategraph: a question has the type of its answer: sg::interrupt<bool>(runtime, question)");
        throw;
    }
};
/// `interrupt` for an answer of any type, which is a Value.
inline AnyAnswer interrupt(Runtime& runtime, const Value& question = {}) {
    return AnyAnswer(interrupt<Value>(runtime, question));
}
inline AnyAnswer interrupt(Runtime& runtime, std::string_view key, const Value& question) {
    return AnyAnswer(interrupt<Value>(runtime, key, question));
}

/// The answer to the question with this key, if it has come; nothing is asked. A node can therefore do something once,
/// before it asks: `if (!sg::answerOf<bool>(rt, "approve")) notify(…);`. Without a saver there is never one. Errors: as
/// `interrupt`, except MissingCheckpointerError.
template <class T = Value>
std::optional<T> answerOf(Runtime& runtime, std::string_view key) {
    return detail::answerAs<T>(runtime, &key);
}
/// The answer to the next question without a key, that is, what the next `interrupt<T>(runtime, question)` would
/// return.
template <class T = Value>
std::optional<T> answerOf(Runtime& runtime) {
    return detail::answerAs<T>(runtime, nullptr);
}

/// Asks several questions at once: returns the answer to the one with this key if it has come; otherwise it asks the
/// question and returns none. All questions asked in this way are open once the node stops, with `stopForAnswers` or at
/// an `interrupt`. If the node returns instead, they are not asked.
///
///     const auto legal = sg::ask<bool>(rt, "legal", "May we?");
///     const auto price = sg::ask<int>(rt, "price", "How much?");
///     if (!legal || !price) sg::stopForAnswers(rt);   // once either is answered the node runs again
///
/// Errors: as `interrupt` with a key.
template <class T = Value>
std::optional<T> ask(Runtime& runtime, std::string_view key, const Value& question) {
    std::optional<detail::GivenAnswer> answer = detail::askAlso(runtime, key, question, detail::answerCheck<T>());
    if (!answer) return {};
    try {
        return std::move(*answer).template as<T>();
    } catch (const WrongTypeError& why) {
        detail::refuseAnswer(runtime, &key, why);
    }
}
/// Stops the node until one of the questions that it asked with `ask` is answered. Errors: InvalidUpdateError if none
/// is open.
[[noreturn]] void stopForAnswers(Runtime& runtime);

template <class F>
std::invoke_result_t<F&> Runtime::once(std::string_view key, F&& fn, OnDoubt on_doubt) {
    using T = std::invoke_result_t<F&>;
    detail::Effect effect(*this, key);
    if (effect.result()) return detail::resultOf<T>(effect);
    if (on_doubt == OnDoubt::ask && effect.inDoubt()) {
        if (auto answer = effect.ask()) {
            if constexpr (!std::is_void_v<T>) effect.template accept<T>(*answer);
            effect.finish(std::move(*answer));
            return detail::resultOf<T>(effect);
        }
    }
    if (on_doubt != OnDoubt::repeat_unclaimed) effect.begin();
    return detail::perform<T>(effect, fn);
}

template <class F, class Check>
    requires std::is_invocable_v<Check&>
std::invoke_result_t<F&> Runtime::once(std::string_view key, F&& fn, Check&& check) {
    using T = std::invoke_result_t<F&>;
    detail::Effect effect(*this, key);
    if (effect.result()) return detail::resultOf<T>(effect);
    if (effect.inDoubt()) {
        if (auto found = detail::checkDoubt(effect, check)) {
            if constexpr (std::is_void_v<T>) {
                effect.finish({});
            } else {
                effect.finish(Value(*found));
            }
            return detail::resultOf<T>(effect);
        }
    }
    effect.begin();
    return detail::perform<T>(effect, fn);
}

}  // namespace stategraph
