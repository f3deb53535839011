#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/print_enum.hpp>
#include <stategraph/detail/requirements.hpp>

namespace stategraph {

struct Interrupt;
class Value;

/// The kind of an error; one for each exception type below.
enum class Errc : std::uint8_t {
    invalid_graph,
    invalid_update,
    invalid_argument,
    empty_input,
    recursion_limit,
    node_failed,
    concurrent_update,
    corrupt_checkpoint,
    wrong_type,
    missing_checkpointer,
    saver_failed,
    thread_busy,
    cancelled,
    node_timeout,
    store_failed,
    corrupt_store,
    missing_store,
    lease_lost,
    thread_exists,
    thread_changed,
    unknown_interrupt,
    store_changed,
};

/// The name of a code, spelt as in LangGraph if LangGraph has it, such as "GRAPH_RECURSION_LIMIT".
const char* toString(Errc code) noexcept;

/// Where an error happened. Empty fields are unknown; they are filled in while the error unwinds.
struct ErrorContext {
    std::string thread_id = {};
    std::string checkpoint_ns = {};
    std::string checkpoint_id = {};
    std::string node = {};
    std::string channel = {};
    std::optional<std::int64_t> step = {};
    /// For a task that a Send created: the number of the Send in its superstep, from 0, and its payload as JSON,
    /// shortened to about 100 bytes.
    std::optional<std::uint64_t> send = {};
    std::string input = {};
};

/// The base of all errors that this library throws.
///
/// `what()` is the message followed by the known context; `message()` is the message alone.
class Error : public std::runtime_error {
public:
    Error(Errc code, std::string message, ErrorContext context = {});

    /// The kind of the error, for code that handles several types alike.
    Errc code() const noexcept { return code_; }
    /// The message without its context.
    const std::string& message() const noexcept { return message_; }
    /// Where it happened, as far as it is known.
    const ErrorContext& context() const noexcept { return context_; }
    const char* what() const noexcept override { return text_.c_str(); }

    /// Fills the fields of the context that are still unknown. Called in catch blocks on the way up.
    void addContext(const ErrorContext& context);

    /// With FailurePolicy::collect: what the superstep's other failed tasks threw, in the order of tasks; `what()`
    /// lists the first ten.
    const std::vector<std::exception_ptr>& others() const noexcept;
    void addOthers(std::vector<std::exception_ptr> others);

private:
    void makeText();

    Errc code_;
    std::string message_;
    ErrorContext context_;
    std::string text_;
    std::shared_ptr<const std::vector<std::exception_ptr>> others_;
};

/// `compile()` found faults; `faults()` has all of them, each with the names that it concerns.
class InvalidGraphError : public Error {
public:
    explicit InvalidGraphError(std::vector<std::string> faults);
    /// All faults, each one a sentence.
    const std::vector<std::string>& faults() const noexcept { return faults_; }

private:
    std::vector<std::string> faults_;
};

/// A write that its channel cannot take: unknown channel, two values for a last-value channel in one superstep, …
class InvalidUpdateError : public Error {
public:
    explicit InvalidUpdateError(std::string message, ErrorContext context = {})
        : Error(Errc::invalid_update, std::move(message), std::move(context)) {}
};

/// A call that asks for something that does not exist or makes no sense: unknown checkpoint, node or option,
/// an impossible limit, a resume value where no interrupt waits for it.
class InvalidArgumentError : public Error {
public:
    explicit InvalidArgumentError(std::string message, ErrorContext context = {})
        : Error(Errc::invalid_argument, std::move(message), std::move(context)) {}

protected:
    InvalidArgumentError(Errc code, std::string message, ErrorContext context)
        : Error(code, std::move(message), std::move(context)) {}
};

/// Answers that do not fit the questions that wait. Nothing was stored and nothing ran, also not an update of the same
/// Command.
class UnknownInterruptError : public InvalidArgumentError {
public:
    /// not_pending: a question that was named does not wait, or none does. empty_map: a list of answers that has none.
    /// ambiguous: an answer that several questions could take.
    enum class Reason : std::uint8_t { not_pending, empty_map, ambiguous };

    UnknownInterruptError(Reason reason, std::string message, std::vector<std::string> ids,
                          std::vector<Interrupt> pending, bool is_answered);
    Reason reason() const noexcept { return reason_; }
    /// What the answers named and does not wait: ids of questions as text, or keys.
    const std::vector<std::string>& ids() const noexcept { return ids_; }
    /// The questions that wait.
    const std::vector<Interrupt>& pending() const noexcept { return *pending_; }
    /// Whether everything in `ids()` was answered before, as far as the thread's log says: the answer was given twice,
    /// which does no harm. Otherwise it names something that was never asked, or that is no longer asked.
    bool isAnswered() const noexcept { return is_answered_; }

private:
    Reason reason_;
    bool is_answered_;
    std::vector<std::string> ids_;
    std::shared_ptr<const std::vector<Interrupt>> pending_;
};
/// The name of a reason, spelt as in LangGraph, such as "not_pending".
const char* toString(UnknownInterruptError::Reason reason) noexcept;

/// Nothing to run: no input on a thread without state, or an empty Command.
class EmptyInputError : public Error {
public:
    explicit EmptyInputError(std::string message, ErrorContext context = {})
        : Error(Errc::empty_input, std::move(message), std::move(context)) {}
};

/// The run took `recursion_limit` supersteps and was not done; what it committed is kept, and RESUME continues it. Or
/// blocking runs are nested in each other so deeply that the thread's stack has no room for another one.
class GraphRecursionError : public Error {
public:
    explicit GraphRecursionError(std::string message, ErrorContext context = {})
        : Error(Errc::recursion_limit, std::move(message), std::move(context)) {}
};

/// Another run committed to the thread first. Nothing of this run's last superstep was stored.
class ConcurrentUpdateError : public Error {
public:
    explicit ConcurrentUpdateError(std::string message, ErrorContext context = {})
        : Error(Errc::concurrent_update, std::move(message), std::move(context)) {}

protected:
    ConcurrentUpdateError(Errc code, std::string message, ErrorContext context)
        : Error(code, std::move(message), std::move(context)) {}
};

/// Another run of this process is under way on the thread, and the call did not wait for it, or not long enough
/// (OnBusy). Nothing was done.
class ThreadBusyError : public ConcurrentUpdateError {
public:
    explicit ThreadBusyError(std::string message, ErrorContext context = {})
        : ConcurrentUpdateError(Errc::thread_busy, std::move(message), std::move(context)) {}
};

/// The thread has a checkpoint, and the run was to begin a new thread (RunConfig::only_new). Nothing was done.
class ThreadExistsError : public ConcurrentUpdateError {
public:
    explicit ThreadExistsError(std::string message, ErrorContext context = {})
        : ConcurrentUpdateError(Errc::thread_exists, std::move(message), std::move(context)) {}
};

/// The newest checkpoint of the thread is not the one that the caller names (`only_at` of RunConfig and UpdateOptions).
/// Nothing was done.
class ThreadChangedError : public ConcurrentUpdateError {
public:
    explicit ThreadChangedError(std::string message, ErrorContext context = {})
        : ConcurrentUpdateError(Errc::thread_changed, std::move(message), std::move(context)) {}
};

/// The write is not stored, because the writer has no lease on the thread: another worker has claimed it since
/// (stategraph/leased_saver.hpp). End the run; its owner continues the thread.
class LeaseLostError : public ConcurrentUpdateError {
public:
    explicit LeaseLostError(std::string message, ErrorContext context = {})
        : ConcurrentUpdateError(Errc::lease_lost, std::move(message), std::move(context)) {}
};

/// Stored bytes that cannot be read; the message names the key.
class CorruptCheckpointError : public Error {
public:
    explicit CorruptCheckpointError(std::string message, ErrorContext context = {})
        : Error(Errc::corrupt_checkpoint, std::move(message), std::move(context)) {}
};

/// A value does not have the requested type: a resume value, a payload, a decoded member.
class WrongTypeError : public Error {
public:
    explicit WrongTypeError(std::string message, ErrorContext context = {})
        : Error(Errc::wrong_type, std::move(message), std::move(context)) {}
};

/// The call needs a saver and the graph was compiled without one.
class MissingCheckpointerError : public Error {
public:
    explicit MissingCheckpointerError(std::string message, ErrorContext context = {})
        : Error(Errc::missing_checkpointer, std::move(message), std::move(context)) {}
};

/// A saver could not do its work: the database is missing, locked, read-only, full.
class SaverError : public Error {
public:
    explicit SaverError(std::string message, ErrorContext context = {})
        : Error(Errc::saver_failed, std::move(message), std::move(context)) {}
};

/// A store (stategraph/store.hpp) could not do its work: the database is missing, locked, read-only, full.
class StoreError : public Error {
public:
    explicit StoreError(std::string message, ErrorContext context = {})
        : Error(Errc::store_failed, std::move(message), std::move(context)) {}

protected:
    StoreError(Errc code, std::string message, ErrorContext context)
        : Error(code, std::move(message), std::move(context)) {}
};

/// Stored bytes of a store that cannot be read; the message names the item.
class CorruptStoreError : public StoreError {
public:
    explicit CorruptStoreError(std::string message, ErrorContext context = {})
        : StoreError(Errc::corrupt_store, std::move(message), std::move(context)) {}
};

/// A put required a value of an item (PutOptions::expected) that the item does not have. Nothing was put or removed.
class StoreChangedError : public StoreError {
public:
    explicit StoreChangedError(std::string message, ErrorContext context = {})
        : StoreError(Errc::store_changed, std::move(message), std::move(context)) {}
};

/// The call needs a store and the graph was compiled without one.
class MissingStoreError : public Error {
public:
    explicit MissingStoreError(std::string message, ErrorContext context = {})
        : Error(Errc::missing_store, std::move(message), std::move(context)) {}
};

/// A node (or a router of its edges) threw. The original exception is `original()`; siblings that finished are kept.
class NodeError : public Error {
public:
    NodeError(std::string message, std::exception_ptr original, std::string task_id, ErrorContext context);
    /// What the node threw.
    const std::exception_ptr& original() const noexcept { return original_; }
    /// The text of the original exception alone. If that was an error of this library, its context is included only if
    /// it says more than the context of this error.
    const std::string& reason() const noexcept { return reason_; }
    /// The id of the task (TaskSnapshot::id) as text.
    const std::string& taskId() const noexcept { return task_id_; }
    /// The number of the Send that created the task, in its superstep, from 0; none if an edge, a join or a goto made
    /// the task due.
    std::optional<std::uint64_t> sendIndex() const noexcept { return context().send; }
    /// The payload of that Send; null without a Send.
    const Value& input() const noexcept;
    /// Is called by the library.
    void setSend(std::uint64_t index, Value input);
    /// The questions at which other tasks of the superstep stopped; they are open (stategraph/interrupt.hpp).
    const std::vector<Interrupt>& interrupts() const noexcept;
    void setInterrupts(std::vector<Interrupt> interrupts);

private:
    std::exception_ptr original_;
    std::string reason_;
    std::string task_id_;
    std::shared_ptr<const std::vector<Interrupt>> interrupts_;
    std::shared_ptr<const Value> input_;
};

/// Thrown by a node's Runtime when the run is to end, or the attempt was abandoned. Do not catch it in a node: it is
/// not the node's failure.
class CancelledError : public Error {
public:
    explicit CancelledError(std::string message, ErrorContext context = {})
        : Error(Errc::cancelled, std::move(message), std::move(context)) {}
};

/// An attempt of a node took too long (NodeOptions::timeout, idle_timeout) and was abandoned. The original exception of
/// a NodeError; policies retry it.
class NodeTimeoutError : public Error {
public:
    /// Which limit was exceeded: that of the whole attempt, or that without a sign of progress.
    enum class Kind : std::uint8_t { run, idle };
    NodeTimeoutError(Kind kind, std::chrono::milliseconds limit, ErrorContext context);
    Kind kind() const noexcept { return kind_; }
    std::chrono::milliseconds limit() const noexcept { return limit_; }

private:
    Kind kind_;
    std::chrono::milliseconds limit_;
};

namespace detail {
/// The message of any exception, "unknown exception" if it is not a std::exception.
std::string describe(const std::exception_ptr& error);
/// Does the same for an error inside another one, whose message contains `known`: the context of an error of this
/// library is left out if `known` contains all of it.
std::string describeWithin(const ErrorContext& known, const std::exception_ptr& error);
}  // namespace detail

}  // namespace stategraph
