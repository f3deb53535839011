#pragma once
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/detail/table.hpp>
#include <stategraph/workflow/run.hpp>
#include <stategraph/workflow/step.hpp>

// Workflows as chains of typed steps:
//
//     const auto order = workflow::workflow<Order>("order").then(price).parallel(stock, fraud).then(ship).commit({.checkpointer = saver});
//     auto run = order.start("run-1", Order{…});
namespace stategraph::workflow {

template <class In, class Out>
class Workflow;

namespace detail {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <class T, class F>
bool holds(const F& condition, const Scope& scope) {
    const auto value = scope.input().template as<T>();
    if constexpr (std::is_invocable_v<const F&, const T&, const Scope&>) {
        return condition(value, scope);
    } else {
        return condition(value);
    }
}
template <class F, class T>
concept ConditionOn =
    std::is_invocable_r_v<bool, const F&, const T&> || std::is_invocable_r_v<bool, const F&, const T&, const Scope&>;

// Functions of one argument, which is the input of an entry, or of two, the second of which is the Scope.
template <class F, class T>
concept CallableOn = std::is_invocable_v<const F&, const T&> || std::is_invocable_v<const F&, const T&, const Scope&>;
template <class T, class F>
auto callOn(const F& function, const Scope& scope) {
    const auto value = scope.input().template as<T>();
    if constexpr (std::is_invocable_v<const F&, const T&, const Scope&>) {
        return function(value, scope);
    } else {
        return function(value);
    }
}

template <class F>
struct Reducer;
template <class C, class R, class A, class B>
struct Reducer<R (C::*)(A, B) const> {
    using Value = A;
};

/// Converts {step: output} to the list in which a tuple is stored.
Value outputsInOrder(const std::vector<std::string>& ids, const Values& outputs);

}  // namespace detail

/// A run of a workflow, with its output's type.
template <class Out>
struct RunResult {
    RunStatus status = RunStatus::pending;
    /// The output of a run that has succeeded; none if a step bailed with a value of another type (RunView::result).
    std::optional<Out> result = {};
    /// The error of a run that has failed.
    std::string error = {};
    /// Everything that is stored for the run.
    RunView view = {};

    explicit RunResult(RunView from) : status(from.status), error(from.error), view(std::move(from)) {
        if (status != RunStatus::success || !view.result) return;
        try {
            result = view.result->template as<Out>();
        } catch (const WrongTypeError&) {
            // A bail's.
        }
    }
};

/// The options of Chain::foreach.
struct ForeachOptions {
    /// How many elements may run at the same time; at least 1.
    int concurrency = 1;
};

namespace detail {
struct AllowFailure {};
}  // namespace detail
/// The first argument of a Chain::parallel whose members may fail: `parallel(allow_failure, a, b)`.
inline constexpr detail::AllowFailure allow_failure = {};

/// Makes a step from a workflow, to be a member of a block, the body of a loop or of a foreach, or to have options. Its
/// questions and steps have the paths "id.step".
template <class In, class Out>
TypedStep<In, Out> step(std::string id, const Workflow<In, Out>& workflow, StepOptions options = {}) {
    TypedStep<In, Out> made;
    made.step.id = std::move(id);
    made.step.workflow = workflow.definition();
    std::move(options).putInto(made.step);
    return made;
}

/// A workflow that is being built: `In` is its input, `Out` the output of its last entry. Each operator returns a
/// longer chain. The compiler checks that the types fit; everything else is checked by `commit`.
template <class In, class Out>
class Chain {
public:
    explicit Chain(Definition definition) : definition_(std::move(definition)) {}

    /// Adds a step, which receives what the previous entry returned.
    template <class SIn, class SOut, class Ask, class Answer>
    Chain<In, SOut> then(const TypedStep<SIn, SOut, Ask, Answer>& step) && {
        requireInput<SIn>();
        return add<SOut>({.kind = Entry::Kind::then, .steps = {step.step}});
    }
    /// Adds a workflow as a step.
    template <class WIn, class WOut>
    Chain<In, WOut> then(std::string id, const Workflow<WIn, WOut>& workflow) && {
        return std::move(*this).then(step(std::move(id), workflow));
    }
    /// Adds steps that all receive the same input; returns their outputs as a tuple.
    template <class... S>
    auto parallel(const S&... steps) && {
        (requireInput<typename S::Input>(), ...);
        Entry entry{.kind = Entry::Kind::parallel, .steps = {steps.step...}};
        entry.combine = [ids = std::vector<std::string>{steps.id()...}](const Values& outputs) {
            return detail::outputsInOrder(ids, outputs);
        };
        return add<std::tuple<typename S::Output...>>(std::move(entry));
    }
    /// The same, but a member that fails does not fail the run; returns a tuple of optionals, which lack its output.
    template <class... S>
    auto parallel(detail::AllowFailure, const S&... steps) && {
        (requireInput<typename S::Input>(), ...);
        Entry entry{.kind = Entry::Kind::parallel, .steps = {steps.step...}, .allows_failure = true};
        entry.combine = [ids = std::vector<std::string>{steps.id()...}](const Values& outputs) {
            return detail::outputsInOrder(ids, outputs);
        };
        return add<std::tuple<std::optional<typename S::Output>...>>(std::move(entry));
    }
    /// Runs each `when(condition, step)` whose condition holds; returns their outputs as a tuple of optionals.
    template <class... Condition, class... S>
    auto branch(const When<Condition, S>&... arms) && {
        (requireInput<typename S::Input>(), ...);
        static_assert((detail::ConditionOn<Condition, Out> && ...),
                      "stategraph: a condition is bool f(const T&), T being what the entry before returns");
        Entry entry{.kind = Entry::Kind::branch, .steps = {arms.step.step...}};
        (entry.conditions.push_back(
             [condition = arms.condition](const Scope& scope) { return detail::holds<Out>(condition, scope); }),
         ...);
        entry.combine = [ids = std::vector<std::string>{arms.step.id()...}](const Values& outputs) {
            return detail::outputsInOrder(ids, outputs);
        };
        return add<std::tuple<std::optional<typename S::Output>...>>(std::move(entry));
    }
    /// Repeats the step with its own last output as long as the condition holds after it; `Scope::iteration` counts
    /// from 1.
    template <class SIn, class SOut, class Ask, class Answer, class F>
    Chain<In, SOut> dowhile(const TypedStep<SIn, SOut, Ask, Answer>& step, F condition) && {
        return std::move(*this).loop(Entry::Kind::dowhile, step, std::move(condition));
    }
    /// Repeats the step with its own last output until the condition holds after it.
    template <class SIn, class SOut, class Ask, class Answer, class F>
    Chain<In, SOut> dountil(const TypedStep<SIn, SOut, Ask, Answer>& step, F condition) && {
        return std::move(*this).loop(Entry::Kind::dountil, step, std::move(condition));
    }
    /// Runs the step for each element of a list; returns the outputs in the order of the elements.
    template <class SIn, class SOut, class Ask, class Answer>
    Chain<In, std::vector<SOut>> foreach (const TypedStep<SIn, SOut, Ask, Answer>& step,
                                          ForeachOptions options = {}) && {
        static_assert(std::is_same_v<Out, std::vector<SIn>>,
                      "stategraph: the step of a foreach takes an element of the list that the entry before returns");
        return add<std::vector<SOut>>(
            {.kind = Entry::Kind::foreach, .steps = {step.step}, .concurrency = options.concurrency});
    }
    /// Converts the value by `f(const T&)` or `f(const T&, const Scope&)`. `id` names the map in views of the run; an
    /// empty one is replaced by one that is made of the workflow's id and the place.
    template <class F>
    auto map(F function, std::string id = {}) && {
        static_assert(detail::CallableOn<F, Out>,
                      "stategraph: a map is f(const T&), T being what the entry before returns");
        Entry entry{.kind = Entry::Kind::map, .id = id.empty() ? nextId("mapping") : std::move(id)};
        entry.transform = [function](const Scope& scope) { return Value(detail::callOn<Out>(function, scope)); };
        return add<std::decay_t<decltype(detail::callOn<Out>(function, std::declval<const Scope&>()))>>(
            std::move(entry));
    }
    /// Suspends the run; any process can resume it when the time has come. `id` is as that of a map.
    Chain<In, Out> sleep(std::chrono::milliseconds time, std::string id = {}) && {
        return std::move(*this).sleepFor([time](const Scope&) { return time; }, std::move(id));
    }
    /// Sleeps for the std::chrono duration that `f(const T&)` or `f(const T&, const Scope&)` returns.
    template <class F>
        requires detail::CallableOn<F, Out>
    Chain<In, Out> sleep(F function, std::string id = {}) && {
        return std::move(*this).sleepFor(
            [function](const Scope& scope) { return detail::callOn<Out>(function, scope); }, std::move(id));
    }
    Chain<In, Out> sleepUntil(std::chrono::system_clock::time_point time, std::string id = {}) && {
        return std::move(*this).sleepFor([time](const Scope&) { return detail::timeUntil(time); }, std::move(id));
    }
    /// Sleeps until the time_point of std::chrono::system_clock that `f(const T&)` or `f(const T&, const Scope&)`
    /// returns.
    template <class F>
        requires detail::CallableOn<F, Out>
    Chain<In, Out> sleepUntil(F function, std::string id = {}) && {
        return std::move(*this).sleepFor(
            [function](const Scope& scope) { return detail::timeUntil(detail::callOn<Out>(function, scope)); },
            std::move(id));
    }
    /// The retry policy of steps that do not set their own.
    Chain<In, Out> retry(RetryPolicy policy) && {
        definition_.retry = std::move(policy);
        return std::move(*this);
    }

    /// Sets how `setState(key, …)` combines with an existing value: `f(const T& before, const T& added)` returns the
    /// new value. It is called for members of a block and elements of a foreach in their order, whichever ran first; a
    /// key without a reducer gets the last value.
    template <class F>
    Chain<In, Out> reducer(std::string key, F function) && {
        using T = std::decay_t<typename detail::Reducer<decltype(&F::operator())>::Value>;
        definition_.reducers.insert_or_assign(
            std::move(key), [function = std::move(function)](const Value& before, const Value& added) {
                return Value(function(before.as<T>(), added.as<T>()));
            });
        return std::move(*this);
    }

    /// Uses a struct with a table of its channels (`channels()`) as the state, as a graph does: the channels' reducers
    /// apply to the keys of the same names, and a run begins only with these keys and with values of the channels'
    /// types. Steps use it with `Context::state<S>` and `Context::update`.
    template <class S>
    Chain<In, Out> state() && {
        detail::checkState<S>();
        if constexpr (ChannelState<S>) detail::useState(definition_, stategraph::detail::schemaOf<S>());
        return std::move(*this);
    }

    /// Requires a request context with the members of T, a struct with a table of its fields, which are read with
    /// `Value::asStrict`; other keys are allowed. A run without it is refused (`invalid_context`), before anything is
    /// run or changed. Steps read it with `Context::requestContext<T>()`.
    template <class T>
    Chain<In, Out> requestContext() && {
        static_assert(stategraph::detail::HasFields<T>,
                      "stategraph: a request context's type is a struct with a table of its fields, `fields()`");
        definition_.context = [](Value context) {
            auto values = context.as<Values>();
            std::erase_if(values, [](const auto& each) {
                return !std::ranges::count(stategraph::detail::TableLayout<T>::names, each.first);
            });
            (void)Value(std::move(values)).template asStrict<T>();
            return context;
        };
        return std::move(*this);
    }

    /// Checks the workflow and returns it in a form that can be run. Errors: InvalidGraphError with every fault.
    Workflow<In, Out> commit(const CompileOptions& options = CompileOptions::defaults()) && {
        return Workflow<In, Out>(std::move(definition_), options);
    }

private:
    template <class, class>
    friend class Chain;

    template <class SIn>
    static void requireInput() {
        static_assert(std::is_same_v<SIn, Out>, "stategraph: the step does not take what the entry before it returns");
    }
    // `function(scope)` returns a duration.
    template <class F>
    Chain<In, Out> sleepFor(F function, std::string id) && {
        Entry entry{.kind = Entry::Kind::sleep, .id = id.empty() ? nextId("sleep") : std::move(id)};
        entry.transform = [function](const Scope& scope) {
            // A double holds every duration, for example std::chrono::hours::max().
            return Value(std::chrono::duration<double, std::milli>(function(scope)).count());
        };
        return add<Out>(std::move(entry));
    }
    template <class SIn, class SOut, class Ask, class Answer, class F>
    Chain<In, SOut> loop(Entry::Kind kind, const TypedStep<SIn, SOut, Ask, Answer>& step, F condition) && {
        requireInput<SIn>();
        static_assert(std::is_same_v<SIn, SOut>, "stategraph: the step of a loop gives what it takes");
        static_assert(detail::ConditionOn<F, SOut>,
                      "stategraph: a condition is bool f(const T&), T being what the step gives");
        Entry entry{.kind = kind, .steps = {step.step}};
        entry.conditions.push_back(
            [condition = std::move(condition)](const Scope& scope) { return detail::holds<SOut>(condition, scope); });
        return add<SOut>(std::move(entry));
    }
    template <class Next>
    Chain<In, Next> add(Entry entry) {
        definition_.entries.push_back(std::move(entry));
        return Chain<In, Next>(std::move(definition_));
    }
    std::string nextId(const char* what) const {
        return std::string(what) + "_" + definition_.id + "_" + std::to_string(definition_.entries.size());
    }

    Definition definition_;
};

/// Begins a workflow that takes an In.
template <class In>
Chain<In, In> workflow(std::string id) {
    requireStorable<In>();
    Definition definition{.id = std::move(id)};
    definition.input = detail::checked<In>;
    return Chain<In, In>(std::move(definition));
}

/// A workflow that can be run, and be a step of others. Copies share it; every method is safe from any thread. Runs are
/// named by the caller. The operations and their errors are those of Flow.
template <class In, class Out>
class Workflow {
public:
    using Input = In;
    using Output = Out;

    Workflow(Definition definition, const CompileOptions& options)
        : definition_(std::make_shared<const Definition>(definition)), flow_(std::move(definition), options) {}

    /// Begins a run, and returns when it has ended or waits.
    RunResult<Out> start(const std::string& run_id, const In& input, const RunOptions& options = {}) const {
        return RunResult<Out>(flow_.start(run_id, Value(input), options));
    }
    /// Answers the open question of a step: `order.resume("run-1", approval, Answer{…})`.
    template <class SIn, class SOut, class Ask, class Answer>
    RunResult<Out> resume(const std::string& run_id, const TypedStep<SIn, SOut, Ask, Answer>& step,
                          const std::type_identity_t<Answer>& answer, const RunOptions& options = {}) const {
        return RunResult<Out>(flow_.resume(run_id, {.step = step.id()}, Value(answer), options));
    }
    /// Answers a question that is named by path, label, or element of a foreach.
    RunResult<Out> resume(const std::string& run_id, const ResumeTarget& target, Value answer,
                          const RunOptions& options = {}) const {
        return RunResult<Out>(flow_.resume(run_id, target, std::move(answer), options));
    }
    /// Resumes a run whose process died, or whose sleep is over.
    RunResult<Out> restart(const std::string& run_id, const RunOptions& options = {}) const {
        return RunResult<Out>(flow_.restart(run_id, options));
    }
    /// Ends a run that is suspended, sleeping, paused, or under way in this process.
    RunResult<Out> cancel(const std::string& run_id) const { return RunResult<Out>(flow_.cancel(run_id)); }
    /// Continues from before `step`, with `input` instead of its former input. RunOptions::outputs has what steps
    /// before it return.
    template <class SIn, class SOut, class Ask, class Answer>
    RunResult<Out> timeTravel(const std::string& run_id, const TypedStep<SIn, SOut, Ask, Answer>& step,
                              std::optional<std::type_identity_t<SIn>> input = {},
                              const RunOptions& options = {}) const {
        std::optional<Value> given;
        if (input) given = Value(*input);
        return RunResult<Out>(flow_.timeTravel(run_id, step.id(), std::move(given), {}, options));
    }
    /// Reads the run as it is now.
    RunResult<Out> get(const std::string& run_id) const { return RunResult<Out>(flow_.get(run_id)); }

    /// The same workflow without its types: lists, snapshots, hubs.
    const Flow& flow() const noexcept { return flow_; }
    /// The workflow as data, for workflows that contain it.
    const std::shared_ptr<const Definition>& definition() const noexcept { return definition_; }

private:
    std::shared_ptr<const Definition> definition_;
    Flow flow_;
};

}  // namespace stategraph::workflow
