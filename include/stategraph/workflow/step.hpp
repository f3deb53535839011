#pragma once
#include <concepts>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/detail/call_failure.hpp>
#include <stategraph/detail/opt_in.hpp>
#include <stategraph/task.hpp>
#include <stategraph/workflow/definition.hpp>
#include <stategraph/workflow/typed_state.hpp>

// Steps whose input, output, questions and answers are types: those of their functions. The file is longer than others,
// so that a step and what it receives are in one place.
namespace stategraph::workflow {

/// A step that takes an In and returns an Out. If it may stop and ask, it asks an Ask and is resumed with an Answer.
template <class In, class Out, class Ask = void, class Answer = void>
struct TypedStep {
    using Input = In;
    using Output = Out;
    using Question = Ask;
    using AnswerType = Answer;
    Step step;

    const std::string& id() const noexcept { return step.id; }
};

/// What a typed step receives besides its input: a StepContext with types.
class Context {
public:
    explicit Context(StepContext& context) noexcept : context_(context) {}
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// The path of the step, such as "outer.inner".
    const std::string& path() const noexcept { return context_.path(); }
    /// The number of the attempt, from 1.
    int attempt() const noexcept { return context_.attempt(); }
    /// The round of a loop, from 1; 0 outside of loops.
    std::int64_t iteration() const noexcept { return context_.iteration(); }
    /// The runtime of the node that executes the step.
    Runtime& runtime() noexcept { return context_.runtime(); }

    /// The input of the workflow.
    template <class T>
    T init() const {
        return context_.init().as<T>();
    }
    /// The output of a step of this workflow that has succeeded.
    template <class In, class Out, class Ask, class Answer>
    std::optional<Out> result(const TypedStep<In, Out, Ask, Answer>& step) const {
        const Value* const output = context_.output(step.id());
        if (output == nullptr) return {};
        return output->template as<Out>();
    }
    /// A value of the workflow's state, as it was when the step began.
    template <class T>
    std::optional<T> state(std::string_view key) const {
        const auto found = context_.state().find(std::string(key));
        if (found == context_.state().end()) return {};
        return found->second.template as<T>();
    }
    /// A value of the request context that callers of the run passed (RunOptions::context).
    template <class T>
    std::optional<T> requestContext(std::string_view key) const {
        const auto found = context_.requestContext().find(std::string(key));
        if (found == context_.requestContext().end()) return {};
        return found->second.template as<T>();
    }
    /// The request context as a struct with a table of its fields (Chain::requestContext); other keys are left out.
    /// Errors: WrongTypeError.
    template <class T>
    T requestContext() const {
        return Value(context_.requestContext()).template as<T>();
    }
    /// The state as a struct, as it was when the step began (Chain::state).
    template <ChannelState S>
    S state() const {
        return stateOf<S>(context_.state());
    }
    /// Writes to the state as a struct, as a node's update does: `context.update(sg::set<&S::owner>("ann"),
    /// sg::add<&S::log>("line"))`. Each channel's reducer takes what is added, in the order of members and elements.
    /// Errors: InvalidUpdateError for an overwrite.
    template <class... Write>
    void update(Write... writes) {
        (context_.setState(detail::valuesOf(std::move(writes))), ...);
    }
    /// Sets a key of the state. The write is merged when the execution ends or suspends; reads of this execution do not
    /// see it.
    void setState(std::string key, Value value) { context_.setState({{std::move(key), std::move(value)}}); }
    /// Reports a value to watchers as output of this step.
    void write(Value value) { context_.write(std::move(value)); }
    /// Ends the run before its next step, with RunStatus::canceled.
    void cancel() { context_.cancel(); }
    /// Ends the workflow here, successfully, with this as its output. An output of another type than the workflow's is
    /// found only in RunResult::view.
    template <class T>
    [[noreturn]] void bail(const T& output) {
        context_.bail(Value(output));
        std::terminate();  // the call above does not return, but compilers cannot see that of a virtual function
    }

protected:
    void noteQuestion(Value question, std::vector<std::string> labels) {
        context_.noteQuestion(std::move(question), std::move(labels));
    }
    const Value* takeAnswer(const auto& question) {
        return context_.hasAnswers() ? context_.takeAnswer(Value(question)) : nullptr;
    }
    StepContext& context_;
};

/// The context of a step that may stop and ask. A resumed step is executed again from its beginning, and `suspend` then
/// returns the answer. A step may ask several questions, one after the other: each `suspend` has an answer of its own.
template <class Ask, class Answer>
class Suspending : public Context {
public:
    using Context::Context;

    /// The last answer, if this execution was resumed with one. Check it before code that belongs before the question
    /// and is to run once. After that, `suspend` returns an answer only for a question that is equal to the one that
    /// was asked.
    std::optional<Answer> resumeData() const {
        const Value* const data = context_.resumeData();
        if (data == nullptr) return {};
        return data->template as<Answer>();
    }
    /// The question, in an execution that was resumed.
    std::optional<Ask> suspendData() const {
        const Value* const asked = context_.suspendData();
        if (asked == nullptr) return {};
        return asked->template as<Ask>();
    }
    /// Returns the answer to this question; without one it stops the run with the question. The first `suspend` of an
    /// execution gets the answer to the step's first question, the second that to its second. `labels` are other names
    /// for the question, by which it can be answered.
    Answer suspend(const Ask& question, std::vector<std::string> labels) {
        if (auto answer = answerTo(question)) return std::move(*answer);
        suspendAgain(question, std::move(labels));
    }
    Answer suspend(const Ask& question) {
        if (auto answer = answerTo(question)) return std::move(*answer);
        suspendAgain(question);
    }
    /// Asks again, even if the question was answered: the new answer replaces the one that `suspend` returned last.
    [[noreturn, gnu::always_inline]] void suspendAgain(const Ask& question, std::vector<std::string> labels) {
        // This is a part of its caller, and so usually of the function that catches what it throws: each function in
        // between costs half a microsecond.
        noteQuestion(Value(question), std::move(labels));
        throw detail::StepLeft();
    }
    [[noreturn, gnu::always_inline]] void suspendAgain(const Ask& question) {
        noteQuestion(Value(question), {});
        throw detail::StepLeft();
    }

private:
    std::optional<Answer> answerTo(const Ask& question) {
        const Value* const answer = takeAnswer(question);
        return answer != nullptr ? std::optional(answer->template as<Answer>()) : std::nullopt;
    }
};

namespace detail {

template <class C>
struct ContextTypes;
template <>
struct ContextTypes<Context> {
    using Ask = void;
    using Answer = void;
};
template <class A, class R>
struct ContextTypes<Suspending<A, R>> {
    using Ask = A;
    using Answer = R;
};

/// A node's function can be a step too; the workflow knows nothing of its questions.
template <>
struct ContextTypes<Runtime> {
    using Ask = void;
    using Answer = void;
};

template <class F>
struct Signature;
template <class C, class R, class A>
struct Signature<R (C::*)(A) const> {
    using In = std::remove_cvref_t<A>;
    using Out = R;
    using Uses = Context;
    static constexpr bool has_context = false;
};
template <class C, class R, class A, class Ctx>
struct Signature<R (C::*)(A, Ctx&) const> {
    using In = std::remove_cvref_t<A>;
    using Out = R;
    using Uses = Ctx;
    static constexpr bool has_context = true;
};

template <class F>
concept HasSignature = requires { typename Signature<decltype(&F::operator())>::In; };
template <class C>
concept IsContext = requires { typename ContextTypes<C>::Ask; };

/// A value that comes from outside must match T in every member.
template <class T>
Value checked(Value value) {
    return Value(value.asStrict<T>());
}

template <class F>
Execute executeOf(F function) {
    using S = Signature<decltype(&F::operator())>;
    const auto call = [](const F& called, const typename S::In& in, StepContext& context) -> decltype(auto) {
        if constexpr (S::has_context && std::is_same_v<typename S::Uses, Runtime>) {
            return called(in, context.runtime());
        } else if constexpr (S::has_context) {
            typename S::Uses typed(context);
            return called(in, typed);
        } else {
            return called(in);
        }
    };
    const auto valueOf = [call](const F& called, const typename S::In& in, StepContext& context) {
        if constexpr (std::is_void_v<typename S::Out>) {
            call(called, in, context);
            return Value();
        } else {
            return Value(call(called, in, context));
        }
    };
    return [function = std::move(function), valueOf](const Value& input, StepContext& context) -> Value {
        const auto in = input.as<typename S::In>();
        if constexpr (!S::has_context) {
            return valueOf(function, in, context);
        } else {
            // Caught here, because the step's function is usually a part of this one: then nothing is unwound.
            try {
                return valueOf(function, in, context);
            } catch (const StepLeft&) {
                return {};
            }
        }
    };
}

template <class Out>
struct Returned {
    using Type = Out;
    static constexpr bool is_task = false;
};
template <class T>
struct Returned<Task<T>> {
    using Type = T;
    static constexpr bool is_task = true;
};

/// Awaits a step's coroutine; its input and context exist in this frame.
template <class F>
Task<Value> awaitStep(const F& function, const Value& input, StepContext& context) {
    using S = Signature<decltype(&F::operator())>;
    using Out = typename Returned<typename S::Out>::Type;
    const auto in = input.as<typename S::In>();
    std::conditional_t<std::is_same_v<typename S::Uses, Runtime>, Context, typename S::Uses> typed(context);
    typename S::Out task = [&] {
        if constexpr (S::has_context && std::is_same_v<typename S::Uses, Runtime>) {
            return function(in, context.runtime());
        } else if constexpr (S::has_context) {
            return function(in, typed);
        } else {
            return function(in);
        }
    }();
    if constexpr (std::is_void_v<Out>) {
        co_await std::move(task);
        co_return Value();
    } else {
        const Out output = co_await std::move(task);
        co_return Value(output);
    }
}

}  // namespace detail

/// The options of Step that do not follow from a step's types.
struct StepOptions {
    /// The retry policy; none: that of the workflow.
    std::optional<RetryPolicy> retry = {};
    /// How long one attempt may take, at least 1 ms; none: unlimited.
    std::optional<std::chrono::milliseconds> timeout = {};
    /// How long one attempt may take without a sign of progress (Runtime::heartbeat), at least 1 ms; none: unlimited.
    std::optional<std::chrono::milliseconds> idle_timeout = {};
    /// Whether outputs are kept in CompileOptions::cache by the step's input; none: they are not.
    std::optional<StepCache> cache = {};
    /// Checks the request context when an execution begins (Step::context); none: it is not checked.
    Check context = {};
    /// A text that snapshots show.
    std::string description = {};
    /// Data that snapshots and drawings show.
    Value metadata = {};

    /// Moves these options into a step.
    void putInto(Step& step) && {
        step.retry = std::move(retry);
        step.timeout = timeout;
        step.idle_timeout = idle_timeout;
        step.cache = std::move(cache);
        step.context = std::move(context);
        step.description = std::move(description);
        step.metadata = std::move(metadata);
    }
};

/// Creates a step from a closure: `f(const In&)`, or with a `Context&`, a `Suspending<Ask, Answer>&` or, as a node's
/// function has it, a `Runtime&` after it. In, Ask and Answer must be storable, and Out storable or void (a step that
/// returns nothing: the next one takes a Value). It may be called from several threads at once. It may be a coroutine,
/// which returns a sg::Task<Out>: steps next to it in a block or a list run while it waits, and in an awaited run no
/// thread waits for it. Its input, its context and the captures of the closure exist until it ends.
template <class F>
auto step(std::string id, F function, StepOptions options = {}) {
    static_assert(
        detail::HasSignature<F>,
        "stategraph: a step is a closure f(const In&), or f(const In&, Context&), with its types written out");
    if constexpr (detail::HasSignature<F>) {
        using S = detail::Signature<decltype(&F::operator())>;
        static_assert(detail::IsContext<typename S::Uses>,
                      "stategraph: a step's second parameter is a workflow::Context&, a workflow::Suspending<Ask, "
                      "Answer>& or a Runtime&");
        using Types = detail::ContextTypes<typename S::Uses>;
        using Returned = detail::Returned<typename S::Out>;
        using Given = typename Returned::Type;
        using Out = std::conditional_t<std::is_void_v<Given>, Value, std::remove_cvref_t<Given>>;
        TypedStep<typename S::In, Out, typename Types::Ask, typename Types::Answer> made;
        made.step.id = std::move(id);
        if constexpr (Returned::is_task) {
            made.step.execute_async = [function = std::move(function)](const Value& input, StepContext& context) {
                return detail::awaitStep(function, input, context);
            };
        } else {
            made.step.execute = detail::executeOf(std::move(function));
        }
        std::move(options).putInto(made.step);
        if constexpr (!std::is_void_v<typename Types::Answer>)
            made.step.resume = detail::checked<typename Types::Answer>;
        return made;
    }
}

/// Creates a step from a graph: `to_input(const In&)` returns the update with which the graph begins, and
/// `from_state(const Output&)` what the step returns. The graph's run is part of the workflow's: it is checkpointed,
/// and its questions are open questions of the run, named by the step's path.
template <class S, class Input, class Output, class To, class From>
auto step(std::string id, CompiledGraph<S, Input, Output> graph, To to_input, From from_state,
          StepOptions options = {}) {
    static_assert(detail::HasSignature<To>,
                  "stategraph: a graph as a step is given its input by a closure f(const In&) that returns an update");
    using In = typename detail::Signature<decltype(&To::operator())>::In;
    using Out = std::decay_t<std::invoke_result_t<const From&, const Output&>>;
    TypedStep<In, Out> made;
    made.step.id = std::move(id);
    made.step.execute = [graph = std::move(graph), to_input = std::move(to_input), from_state = std::move(from_state)](
                            const Value& input, StepContext& context) {
        Update<Input> begin = to_input(input.as<In>());
        // A graph that has changed since the run was left in it does not fail the run.
        return Value(from_state(stategraph::detail::markingRefusals(
            [&] { return context.runtime().invoke(graph, std::move(begin), "graph"); })));
    };
    std::move(options).putInto(made.step);
    return made;
}

/// Makes the same step under another id, because each step of a workflow needs its own.
template <class In, class Out, class Ask, class Answer>
TypedStep<In, Out, Ask, Answer> clone(TypedStep<In, Out, Ask, Answer> step, std::string id) {
    step.step.id = std::move(id);
    return step;
}

/// One arm of a branch: the step runs if the condition, `bool f(const In&)` or `bool f(const In&, const Scope&)`,
/// holds.
template <class Condition, class S>
struct When {
    Condition condition;
    S step;
};
/// One arm of a branch: a condition and a step.
template <class Condition, class S>
When<Condition, S> when(Condition condition, S step) {
    return {std::move(condition), std::move(step)};
}

}  // namespace stategraph::workflow
