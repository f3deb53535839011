#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/retry.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/task.hpp>
#include <stategraph/value.hpp>

// A workflow as data: entries in order, of steps whose inputs and outputs are Values. Chains of typed steps
// (stategraph/workflow/workflow.hpp) produce one, and programs that load workflows from files make one themselves.
namespace stategraph::workflow {

/// Named values: the state of a workflow.
using Values = std::map<std::string, Value>;
/// Checks a value where it enters the workflow, removes what is unknown and fills in what is missing. If the value is
/// wrong, it throws an explanation. None: the value is used unchanged. Called on the thread of the task or of the call;
/// several calls may run at the same time.
using Check = std::function<Value(Value value)>;

struct Definition;

/// A failure that another attempt would not cure: it is not retried, whatever the policy says.
class PermanentError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What conditions, maps and computed sleeps can read. Valid during the call.
class Scope {
public:
    virtual ~Scope() = default;
    /// The input of the entry; in a condition of a loop, the output of its body.
    virtual const Value& input() const noexcept = 0;
    /// The workflow's state; in a step, the state from when the step began.
    virtual const Values& state() const noexcept = 0;
    /// The input of the workflow that contains the entry.
    virtual const Value& init() const noexcept = 0;
    /// What the callers of the run passed in addition to its input (RunOptions::context).
    virtual const Values& requestContext() const noexcept = 0;
    /// The output of a step of this workflow that has succeeded; otherwise null.
    virtual const Value* output(std::string_view step) const noexcept = 0;
    /// How often the body of a loop has run, from 1; 0 outside of loops.
    virtual std::int64_t iteration() const noexcept = 0;
};

/// What a step receives besides its input. Valid during its call, on the thread of the call.
class StepContext : public Scope {
public:
    /// The path of the step: the ids of the workflows around it, then its own, "outer.inner.step".
    virtual const std::string& path() const noexcept = 0;
    virtual Runtime& runtime() noexcept = 0;
    /// 1 for the first try.
    virtual int attempt() const noexcept = 0;
    /// The data with which this execution was resumed; null if it was not resumed. So `false`, 0 and "" are answers.
    virtual const Value* resumeData() const noexcept = 0;
    /// What the step asked before it was resumed; null in an execution that was not resumed.
    virtual const Value* suspendData() const noexcept = 0;

    /// Stops the run until a caller resumes this step: it is then executed again from its beginning, with the same
    /// input and with `resumeData`. What it has set in the state is kept. `labels` are other names for the question. It
    /// leaves the step through an exception of the library.
    [[noreturn]] virtual void suspend(Value payload, std::vector<std::string> labels = {}) = 0;
    /// Ends the workflow that the step is in, successfully, with this output. It leaves the step in the same way.
    [[noreturn]] virtual void bail(Value output) = 0;
    /// Sets values of the state, key by key, when this execution ends or suspends; an execution that fails changes
    /// nothing. If several members of a block set the same key, the last in order wins. Errors: what the step's check
    /// throws.
    virtual void setState(Values values) = 0;
    /// Reports a value to watchers as output of this step.
    virtual void write(Value value) = 0;
    /// Ends the run before its next step; this step is not stopped.
    virtual void cancel() = 0;

private:
    friend class Context;
    // The first half of `suspend`; the second one throws detail::StepLeft. What this one was given is gone by then: an
    // object that an exception must destroy on its way costs a microsecond.
    virtual void noteQuestion(Value payload, std::vector<std::string> labels) = 0;
    // Returns the answer to the step's next question, or null if it must be asked. Without `hasAnswers` it must.
    virtual bool hasAnswers() const noexcept = 0;
    virtual const Value* takeAnswer(Value question) = 0;
};

namespace detail {
/// Thrown to leave a step that has suspended or bailed, which its context knows. It is not a std::exception, so that
/// the step's handlers do not catch it.
struct StepLeft {};
/// How long it is until a point in time, in whole milliseconds, for every point that the clock has; below 0 for one
/// that is over.
std::chrono::milliseconds timeUntil(std::chrono::system_clock::time_point time) noexcept;
}  // namespace detail

/// The function of a step.
using Execute = std::function<Value(const Value& input, StepContext& context)>;
/// The function of a step that is a coroutine. Its arguments exist until it ends.
using ExecuteAsync = std::function<Task<Value>(const Value& input, StepContext& context)>;
/// Decides in branches and loops.
using Condition = std::function<bool(const Scope& scope)>;
/// The function of a map.
using Transform = std::function<Value(const Scope& scope)>;
/// Combines the value of a key of the state with a value to which it is set. It is called for one value after another,
/// in the order of a block's members or of a foreach's elements. A key without a value simply gets the new one.
using Reduce = std::function<Value(const Value& before, const Value& added)>;
/// Makes the result of a block from the outputs of those of its members that ran.
using Combine = std::function<Value(const Values& outputs)>;

/// Whether a step's outputs are kept for executions with an equal input (CompileOptions::cache). The questions of a
/// step, its changes to the state, and executions that were resumed are not kept.
struct StepCache {
    /// How long an output is kept; none: as long as the cache keeps it.
    std::optional<std::chrono::milliseconds> ttl = {};
    /// Change it when the step computes something else than before.
    std::string version = {};
};

/// A step without its types.
struct Step {
    /// The step's name, unique in its workflow; not empty, and without '.', '[' and ']'.
    std::string id;
    Execute execute = {};
    /// Is called instead of `execute`: a coroutine; other steps continue while it waits.
    ExecuteAsync execute_async = {};
    /// Is run instead of `execute`: a workflow whose input is that of the step.
    std::shared_ptr<const Definition> workflow = {};
    Check input = {};
    /// Checks what the step returns; a step whose output is refused has failed. Neither a question nor a bail is an
    /// output.
    Check output = {};
    Check resume = {};
    Check suspend = {};
    Check state = {};
    /// Checks the request context, as a map, when an execution begins. What it returns is not used. If it throws, the
    /// step has failed.
    Check context = {};
    /// The retry policy; none: that of the workflow.
    std::optional<RetryPolicy> retry = {};
    /// How long one attempt may take, and how long without a sign of progress; afterwards it has failed
    /// (NodeOptions::timeout).
    std::optional<std::chrono::milliseconds> timeout = {};
    std::optional<std::chrono::milliseconds> idle_timeout = {};
    /// Not for a step that is a workflow.
    std::optional<StepCache> cache = {};
    /// A text that snapshots show and nothing interprets.
    std::string description = {};
    Value metadata = {};
};

/// One entry. Each receives what the entry before it returned; the first receives the run's input.
struct Entry {
    /// The operator of the entry.
    enum class Kind : std::uint8_t {
        then,      // one step
        parallel,  // every step with the same input; returns {step: output}
        branch,    // the same, but only the steps whose condition holds; each condition is evaluated once
        dowhile,   // one step repeatedly, on its own last output, as long as the condition holds after it
        dountil,   // the same until it holds
        foreach,   // one step for each element of a list; returns the outputs in order
        map,       // the result of `transform`
        sleep,     // returns its input after as many milliseconds as `transform` returns; immediately for 0 and less
    };
    Kind kind = Kind::then;
    std::vector<Step> steps = {};
    /// The conditions: one for each step of a branch, one for a loop.
    std::vector<Condition> conditions = {};
    /// The id and the function of a map or a sleep.
    std::string id = {};
    Transform transform = {};
    /// How many elements of a foreach run at once; the next one starts as soon as one ends. At least 1. With 1 they run
    /// one after another, and each sees the state that the previous one left.
    int concurrency = 1;
    /// How large the outputs of a foreach may be: an element of a list of N fails if its output has more bytes than
    /// this number, or for more than eight elements than eight times its N-th part. 0: no limit.
    std::size_t outputs_bytes_max = 0;
    /// Combines the outputs of a parallel or a branch; none: the result is {step: output}.
    Combine combine = {};
    /// For a parallel: a member that fails, with all its attempts, does not fail the run, and its output is null.
    bool allows_failure = false;
};

/// A workflow as data.
struct Definition {
    /// The workflow's name; its runs are stored under it.
    std::string id;
    /// The entries in their order; each receives what the previous one returned.
    std::vector<Entry> entries = {};
    /// Checks the input of a run, also where the workflow is a step of another one, which then fails; null: no check.
    Check input = {};
    /// Checks the state with which a run begins; null: no check.
    Check state = {};
    /// Checks the request context, as a map, with which a run begins, resumes, restarts or travels, if a caller passes
    /// one, and where the workflow is a step of another one. The keys that it returns are added to the context, or
    /// replace those that are there; null: no check.
    Check context = {};
    /// The reducers by key of the state; a key without one is replaced. Those of the outermost workflow apply to all
    /// workflows inside it.
    std::map<std::string, Reduce> reducers = {};
    /// The retry policy of steps without their own. If `retry_on` is not set, every error but PermanentError is
    /// retried.
    RetryPolicy retry = {};
};

}  // namespace stategraph::workflow
