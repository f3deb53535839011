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
// (stategraph/workflow/workflow.hpp) are made of it, and programs that load workflows from files make it themselves.
namespace stategraph::workflow {

/// Named values: the state of a workflow.
using Values = std::map<std::string, Value>;
/// What a value becomes where it enters: checked, with what is unknown left out and what is missing filled in. It
/// throws what is wrong with it. None: the value is taken as it is. Called on the thread of the task, or of the call;
/// several calls may be at the same time.
using Check = std::function<Value(Value value)>;

struct Definition;

/// A failure that no other attempt would mend: it is not retried, whatever the policy says.
class PermanentError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What conditions, maps and computed sleeps see. Valid during the call.
class Scope {
public:
    virtual ~Scope() = default;
    /// What the entry was given; in a condition of a loop what its body returned.
    virtual const Value& input() const noexcept = 0;
    /// The workflow's state; in a step as it was when the step began.
    virtual const Values& state() const noexcept = 0;
    /// The input of the workflow that the entry is in.
    virtual const Value& init() const noexcept = 0;
    /// What the callers of the run gave in addition to its input (RunOptions::context).
    virtual const Values& requestContext() const noexcept = 0;
    /// The output of a step of this workflow that has succeeded; else null.
    virtual const Value* output(std::string_view step) const noexcept = 0;
    /// How often the body of a loop has run, from 1; 0 outside of loops.
    virtual std::int64_t iteration() const noexcept = 0;
};

/// What a step has besides its input. Valid during its call, on the thread of the call.
class StepContext : public Scope {
public:
    /// The step, below the workflows that it is in: "outer.inner.step".
    virtual const std::string& path() const noexcept = 0;
    virtual Runtime& runtime() noexcept = 0;
    /// 1 for the first try.
    virtual int attempt() const noexcept = 0;
    /// What this execution was resumed with; null in one that was not, so that `false`, 0 and "" are answers.
    virtual const Value* resumeData() const noexcept = 0;
    /// What the step asked before it was resumed; null in an execution that was not resumed.
    virtual const Value* suspendData() const noexcept = 0;

    /// Stops the run until somebody resumes this step: it is then executed again from its beginning, with the same
    /// input and with `resumeData`. What it has set of the state counts. `labels` are other names for the question. It
    /// leaves the step through an exception of the library's.
    [[noreturn]] virtual void suspend(Value payload, std::vector<std::string> labels = {}) = 0;
    /// Ends the workflow that the step is in, successfully, with this output. It leaves the step in the same way.
    [[noreturn]] virtual void bail(Value output) = 0;
    /// Merged into the state when this execution ends or suspends, key by key; an execution that fails leaves no trace.
    /// Of members of a block that set one key the last in order wins. Errors: what the step's check throws.
    virtual void setState(Values values) = 0;
    /// Reports a value to watchers, as output of this step.
    virtual void write(Value value) = 0;
    /// Ends the run before its next step; this one is not stopped.
    virtual void cancel() = 0;
};

/// The function of a step.
using Execute = std::function<Value(const Value& input, StepContext& context)>;
/// The same as a coroutine. What it is given lives until it ends.
using ExecuteAsync = std::function<Task<Value>(const Value& input, StepContext& context)>;
/// Decides in branches and loops.
using Condition = std::function<bool(const Scope& scope)>;
/// The function of a map.
using Transform = std::function<Value(const Scope& scope)>;
/// How values that a key of the state is set to come together: what the key has, and what it is set to. Called for one
/// after the other, for members of a block and elements of a foreach in their order. Without a value the key gets what
/// it is set to.
using Reduce = std::function<Value(const Value& before, const Value& added)>;
/// What a block returns, from the outputs of those of its members that ran.
using Combine = std::function<Value(const Values& outputs)>;

/// Whether a step's outputs are kept for executions with an equal input (CompileOptions::cache). Not kept is what a
/// step asked, what it set of the state, and an execution that was resumed.
struct StepCache {
    /// How long; none: as long as the cache keeps it.
    std::optional<std::chrono::milliseconds> ttl = {};
    /// To be changed when the step computes something else than before.
    std::string version = {};
};

/// A step without its types.
struct Step {
    /// Unique in its workflow; not empty, and without '.', '[' and ']'.
    std::string id;
    Execute execute = {};
    /// In place of `execute`: a coroutine, which other steps do not wait for while it waits.
    ExecuteAsync execute_async = {};
    /// In place of `execute`: a workflow whose input is the step's.
    std::shared_ptr<const Definition> workflow = {};
    Check input = {};
    Check resume = {};
    Check suspend = {};
    Check state = {};
    /// None: the workflow's.
    std::optional<RetryPolicy> retry = {};
    /// How long one attempt may take, and how long it may give no sign: then it has failed (NodeOptions::timeout).
    std::optional<std::chrono::milliseconds> timeout = {};
    std::optional<std::chrono::milliseconds> idle_timeout = {};
    /// Not of a workflow.
    std::optional<StepCache> cache = {};
    /// Shown in snapshots, and not looked at.
    std::string description = {};
    Value metadata = {};
};

/// One entry. Each receives what the entry before it returned; the first receives the run's input.
struct Entry {
    /// The operator of the entry.
    enum class Kind : std::uint8_t {
        then,      // one step
        parallel,  // every step with the same input; returns {step: output}
        branch,    // the same of those steps whose condition holds, which is asked once
        dowhile,   // one step again and again, on its own last output, as long as the condition holds after it
        dountil,   // the same until it holds
        foreach,   // one step for each element of a list; returns the outputs in order
        map,       // what `transform` makes
        sleep,     // returns its input after as many milliseconds as `transform` gives; none for 0 and less
    };
    Kind kind = Kind::then;
    std::vector<Step> steps = {};
    /// For a branch, one for each step; for a loop, one.
    std::vector<Condition> conditions = {};
    /// For a map or a sleep: its id and its function.
    std::string id = {};
    Transform transform = {};
    /// How many elements of a foreach are worked on at once, each as soon as another is done; at least 1. With 1 they
    /// follow each other, and each sees the state that the one before it left.
    int concurrency = 1;
    /// For a parallel or a branch: combines the outputs; none: {step: output}.
    Combine combine = {};
};

/// A workflow as data.
struct Definition {
    /// The workflow's name; its runs are stored under it.
    std::string id;
    /// The entries in their order; each receives what the previous one returned.
    std::vector<Entry> entries = {};
    /// Checks the input of a run; null: no check.
    Check input = {};
    /// Checks the state with which a run begins; null: no check.
    Check state = {};
    /// By key of the state; a key without one is replaced. Those of the outermost workflow hold for all inside it.
    std::map<std::string, Reduce> reducers = {};
    /// The retry policy of steps without their own. If `retry_on` is not set, every error but PermanentError is
    /// retried.
    RetryPolicy retry = {};
};

}  // namespace stategraph::workflow
