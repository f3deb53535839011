#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/compiled_graph.hpp>
#include <stategraph/delete_thread.hpp>
#include <stategraph/detail/thread_read.hpp>
#include <stategraph/error.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/json_schema.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/serve/protocol.hpp>
#include <stategraph/snapshot.hpp>
#include <stategraph/stream_hub.hpp>
#include <stategraph/value.hpp>

// What a server serves: a compiled graph under a name.
namespace stategraph::serve {

/// What a client does to a thread.
enum class Operation : std::uint8_t {
    start,   // {"input": {channel: value}}, or {"text": "…"} for what holds a conversation
    resume,  // {"answers": [{"id" or "key", "value"}…]}, {"resume": value} for one open question, or {} to continue
    // of calls of agents, or of agents inside: {"call_id", "approved", "reason", "arguments"}, or {"call_id", "output",
    // "is_error"} of a client's tool; or {"decisions": […]} with several of these
    decide,
};

/// The options of an endpoint.
struct EndpointOptions {
    /// The protocols that clients may request; the first is the default. Empty: ownEvents().
    std::vector<Protocol> protocols = {};
    /// Whether the run that a client started stops when the client disconnects. Otherwise the run continues, and the
    /// client can reconnect.
    bool disconnect_cancels = false;
    /// Whether the response ends when the run waits for an answer. Otherwise it stays open, for the run that continues.
    bool close_on_suspend = true;
    /// Whether clients may only read: `state`, `history` and events. For programs whose runs are begun elsewhere, as by
    /// workers.
    bool read_only = false;
    /// The channels that `input` of a start may write. Not given: all that the graph takes as its input; of an agent
    /// none, whose clients send texts and files. An agent's channel "messages" lets a client write messages of anybody.
    std::optional<std::vector<std::string>> input_channels = {};
    /// The configuration of runs: limits, metadata, context. The server sets thread, hub and control.
    RunConfig config = {};
};

/// The key under which the metadata of a run has the name of who asked for it (Identity::name). A program that begins
/// a thread for a user can store it too.
inline constexpr const char* owner_key = "owner";

/// What is stored of who began a thread.
struct ThreadOwner {
    /// Whether anything is stored of the thread.
    bool is_begun = false;
    /// The name of who began it; empty: nobody's.
    std::string name = {};
    /// The newest checkpoint of the thread.
    CheckpointId checkpoint_id = {};
};

/// Returns what a client is told instead of the text of an error; `what` says what failed, such as "The run failed".
/// Null: clients are told the texts (ServerOptions::show_errors).
using ErrorText = std::function<std::string(std::string_view what, std::string_view text)>;

/// Starts the run of a request. It is awaited once.
struct Begin : std::function<Task<>(RunConfig config)> {
    using std::function<Task<>(RunConfig config)>::function;

    /// For a message of the user that has an id: the id as clients know it (Endpoint::messages).
    std::string message_id = {};
    /// Whether the conversation has that message already, so that the run continues its turn.
    bool repeats = false;
};

/// A served graph. Its methods are called from the server's threads, several at once.
class Endpoint {
public:
    explicit Endpoint(EndpointOptions options) : options_(std::move(options)) {}
    virtual ~Endpoint() = default;

    const EndpointOptions& options() const noexcept { return options_; }
    /// The hub that the runs of the endpoint report to.
    virtual StreamHub& hub() noexcept = 0;
    /// Returns the thread of the hub that a client's name refers to.
    virtual ThreadId threadOf(const ThreadId& name) const { return name; }
    /// Checks a client's request before anything is done. Errors, which are reported to the client:
    /// InvalidArgumentError, WrongTypeError, InvalidUpdateError.
    virtual Begin prepare(Operation operation, const ThreadId& thread, const Value& body) = 0;
    /// Stores the message of a start's body for the run that is under way on the thread: the run takes it before its
    /// next call of the model (`steers`), or when it has its answer. Returns when it is stored. Errors:
    /// InvalidArgumentError, also of an endpoint that takes no messages.
    virtual void send(const ThreadId& thread, const Value& body, bool steers);
    /// Begins a turn with the messages that wait on a thread whose runs have ended; null if there are none.
    virtual Begin takeSent(const ThreadId& /*thread*/) { return {}; }
    /// Whether the name is one that threads of the library have, and no client's: by default "inbox " and the name of
    /// another thread, which keeps messages that an agent's thread has yet to take. The endpoints of a server may share
    /// a saver.
    virtual bool isReserved(const ThreadId& name) const { return isInbox(name.view()); }
    /// Whether the state has a conversation, a channel "messages" of model::Message: `start` takes {"text"}, "files",
    /// "message_id" and "anew" too, and stores a message of a client's ID as "user-ID".
    virtual bool holdsMessages() const { return false; }
    /// Whether `start` takes the texts of people alone, as an agent's does, and not what else a client has of a state.
    virtual bool takesTexts() const { return false; }
    /// Whether the thread has run to its end, so that a start begins on it again, which a client must ask for. A thread
    /// that goes on with each start, as an agent's does, has none. It is not called for a start with {"text"}.
    virtual bool hasEnded(const ThreadId& /*thread*/) { return false; }
    /// The thread's status, for a client that connects after its run has ended.
    virtual Status endingOf(const ThreadId& /*thread*/) { return Status::done; }
    /// Stops the run that is under way here (`under_way` is its control), or with null ends the thread, so that
    /// nothing of it is due or open.
    virtual void cancel(const ThreadId& thread, RunControl* under_way) = 0;
    /// Whose the thread is, for servers whose threads belong to their users (ServerOptions::owned). An endpoint that
    /// does not know has threads of nobody, which such a server shows to nobody.
    virtual ThreadOwner ownerOf(const ThreadId& /*thread*/) { return {.is_begun = true}; }
    /// The state as JSON, with `error_text` instead of the texts of errors; empty if nothing is stored for the thread.
    virtual std::string state(const Config& config, const GetStateOptions& options, const ErrorText& error_text) = 0;
    /// The history as a list of JSON, newest first, likewise.
    virtual std::string history(const Config& config, const HistoryOptions& options, const ErrorText& error_text) = 0;
    /// What the turn and the thread have used and cost at a checkpoint, as a JSON object that pages get; empty:
    /// unknown.
    virtual std::string account(const Config&) { return {}; }
    /// The data of an event with `error_text` instead of the texts of errors; none: they have no such texts.
    virtual std::optional<Value> dataFor(const StreamEvent& event, const ErrorText& error_text) const;
    /// Reads something from the stores. Errors: what they throw if they cannot be reached.
    virtual void checkStores() {}
    /// The JSON Schema of the graph's state, and that of the input of `start`; `{}`: anything.
    virtual std::string stateSchema() const { return "{}"; }
    virtual std::string inputSchema() const { return "{}"; }

private:
    EndpointOptions options_;
};

namespace detail {

/// Whether a graph's state, and its input by its JSON Schema, have a channel "messages" of model::Message with a
/// reducer of messages; and whether graphs inside may write it.
struct HeldMessages {
    bool are_held = false;
    bool are_shared = false;
};
HeldMessages heldMessages(const stategraph::detail::Core& core, const std::string& input_schema);
/// Whether the body of a start says something in a conversation.
bool saysText(const Value& body);
/// What the body of such a start does to a conversation.
struct Saying {
    /// What is written: {"messages": […]}.
    Value input = {};
    /// The checkpoint of the conversation, which decided that; empty: it was not read, or nothing is stored.
    CheckpointId at = {};
    bool was_read = false;
    std::string message_id = {};
    bool repeats = false;
};
/// `read` reads the thread with its subgraphs. Errors: WrongTypeError, InvalidArgumentError.
Saying sayingOf(const Value& body, const HeldMessages& held, const std::function<SnapshotData()>& read);
/// The run of a start that says something: `start` writes it, `resume` continues the turn of a message that is known.
/// It is refused if another process has changed the conversation since it was read.
Begin sayingBegin(const Saying& saying, Begin start, Begin resume);
/// The messages that wait for the next turn of threads of a graph that holds a conversation.
class SentMessages {
public:
    virtual ~SentMessages() = default;
    /// Stores the message in the body of a start, unless the conversation, which `read` reads, has it. Errors:
    /// InvalidArgumentError, also for a message that steers; MissingCheckpointerError; those of the saver.
    virtual void send(const ThreadId& thread, const Value& body, bool steers,
                      const std::function<SnapshotData()>& read) = 0;
    struct Waiting {
        Value input = {};        // {"messages": […]}; null: nothing waits
        CheckpointId at = {};    // of the conversation that does not have them
        std::int64_t count = 0;  // how many messages of this thread are taken with these
    };
    /// Reads the store, because another process may have stored messages. Errors: those of the saver. Cost: a read, and
    /// if something waits two more.
    virtual Waiting waiting(const ThreadId& thread, const std::function<SnapshotData()>& read) = 0;
    /// Removes messages that the thread has taken.
    virtual void forget(const ThreadId& thread, std::int64_t count) noexcept = 0;
};
std::shared_ptr<SentMessages> sentMessages(const stategraph::detail::Core& core, const HeldMessages& held);
/// A turn that begins with messages that waited: `start` writes them. They are removed from those that wait when it has
/// ended.
Begin sentBegin(std::shared_ptr<SentMessages> sent, const ThreadId& thread, SentMessages::Waiting waiting, Begin start);
/// The answers of a request to decide about calls, of which `open` are the open questions. Errors: WrongTypeError,
/// InvalidArgumentError.
Command<> decisionsIn(const Value& body, const ThreadId& thread, const std::vector<Interrupt>& open);
/// The answers in a client's request. None: the run is to continue without answers. Errors: WrongTypeError,
/// InvalidArgumentError.
std::optional<Command<>> answersIn(const Value& body);
/// The member `input`. Errors: InvalidArgumentError, also if it writes a channel that the options do not allow.
Value inputIn(const Value& body, const EndpointOptions& options);
/// The same for an input by itself.
void checkInput(const Value& input, const EndpointOptions& options);
std::string jsonList(const std::vector<std::string>& items);
/// The JSON text of a snapshot with `error_text` instead of the texts of errors.
std::string withoutErrors(std::string snapshot, const ErrorText& error_text);
/// Who asked for the run that stored this; empty: nobody.
std::string ownerIn(const Metadata& metadata);
/// Returns `{}` for a state whose channels are named at run time.
template <class T>
std::string stateSchemaOf() {
    if constexpr (Storable<T>) {
        return jsonSchema<T>();
    } else {
        return "{}";
    }
}
/// Tells the log of a server what a run has used; `watch` is the run's observer, which the server has set.
void tellUsage(Observer* watch, Value usage);
/// The name of a thread that nobody has, to see whether a store answers.
inline constexpr const char* no_thread = "stategraph-ready";
/// A state's schema without `required`: an update names the channels that it writes.
std::string schemaOfUpdate(const std::string& state);
/// Makes an update from JSON; for a JsonState include stategraph/json.hpp.
template <class U, class V>
U updateFrom(const V& values) {
    if constexpr (requires { U::of(values); }) {
        return U::of(values);
    } else {
        return U::of(toJsonValue(values).as_object());
    }
}

}  // namespace detail

/// The endpoint of any compiled graph.
template <class S, class Input = S, class Output = S>
class GraphEndpoint : public Endpoint {
public:
    GraphEndpoint(CompiledGraph<S, Input, Output> graph, EndpointOptions options)
        : Endpoint(std::move(options)),
          graph_(std::move(graph)),
          held_(detail::heldMessages(*graph_.core(), detail::stateSchemaOf<Input>())),
          sent_(detail::sentMessages(*graph_.core(), held_)),
          hub_(graph_) {}

    StreamHub& hub() noexcept override { return hub_; }
    bool holdsMessages() const override { return held_.are_held; }
    Begin prepare(Operation operation, const ThreadId& thread, const Value& body) override {
        if (operation == Operation::decide) return begin(decisions(thread, body));
        if (operation == Operation::start && held_.are_held && detail::saysText(body)) return say(thread, body);
        if (operation == Operation::start)
            return begin(detail::updateFrom<Update<Input>>(detail::inputIn(body, options())));
        if (auto answers = detail::answersIn(body)) return begin(std::move(*answers));
        return begin(RESUME);
    }
    void send(const ThreadId& thread, const Value& body, bool steers) override {
        sent_->send(thread, body, steers, [&] { return readConversation(thread); });
    }
    /// A run that has failed, was stopped or waits for a person is not answered by a turn that nobody asked for.
    Begin takeSent(const ThreadId& thread) override {
        auto waiting = sent_->waiting(thread, [&] { return readConversation(thread); });
        if (waiting.input.isNull() || endingOf(thread) != Status::done) return {};
        Begin start = begin(detail::updateFrom<Update<Input>>(waiting.input));
        return detail::sentBegin(sent_, thread, std::move(waiting), std::move(start));
    }
    bool hasEnded(const ThreadId& thread) override {
        try {
            const auto at = graph_.getState({.thread_id = thread});
            return !at.config.checkpoint_id.empty() && at.next.empty();
        } catch (const MissingCheckpointerError&) {
            return false;
        }
    }
    Status endingOf(const ThreadId& thread) override {
        try {
            return stategraph::detail::threadStatus(*graph_.core(), thread);
        } catch (const MissingCheckpointerError&) {
            return Status::done;
        }
    }
    void cancel(const ThreadId& thread, RunControl* under_way) override {
        if (under_way != nullptr) {
            under_way->requestStop();
        } else {
            graph_.cancelThread(thread);
        }
    }
    /// Programs may have continued the thread: the newest checkpoint that has an owner says whose it is.
    ThreadOwner ownerOf(const ThreadId& thread) override {
        ThreadOwner owner;
        HistoryOptions options{.limit = 1, .values = false};
        for (const auto& newest : graph_.getStateHistory({.thread_id = thread}, options))
            owner = {true, detail::ownerIn(newest.metadata), newest.config.checkpoint_id};
        if (!owner.is_begun || !owner.name.empty()) return owner;
        options = {.before = owner.checkpoint_id, .values = false};
        for (const auto& earlier : graph_.getStateHistory({.thread_id = thread}, options)) {
            owner.name = detail::ownerIn(earlier.metadata);
            if (!owner.name.empty()) break;
        }
        return owner;
    }
    std::string state(const Config& config, const GetStateOptions& options, const ErrorText& error_text) override {
        const auto at = graph_.getState(config, options);
        return at.config.checkpoint_id.empty() ? std::string() : detail::withoutErrors(toJson(at), error_text);
    }
    std::string history(const Config& config, const HistoryOptions& options, const ErrorText& error_text) override {
        std::vector<std::string> items;
        for (const auto& snapshot : graph_.getStateHistory(config, options))
            items.push_back(detail::withoutErrors(toJson(snapshot), error_text));
        return detail::jsonList(items);
    }
    void checkStores() override {
        try {
            (void)graph_.getState({.thread_id = detail::no_thread});
        } catch (const MissingCheckpointerError&) {  // it stores nothing
        }
    }
    std::string stateSchema() const override { return detail::stateSchemaOf<Output>(); }
    std::string inputSchema() const override { return detail::schemaOfUpdate(detail::stateSchemaOf<Input>()); }

protected:
    const CompiledGraph<S, Input, Output>& graph() const noexcept { return graph_; }
    /// The answers of a request to decide about calls. Errors: WrongTypeError, InvalidArgumentError.
    virtual Command<> decisions(const ThreadId& thread, const Value& body) {
        return detail::decisionsIn(body, thread, graph_.getState({.thread_id = thread}).interrupts());
    }
    template <class In>
    Begin begin(In input) const {
        return [graph = graph_, input = std::move(input)](RunConfig config) {
            return run<In>(graph, input, std::move(config));
        };
    }

private:
    SnapshotData readConversation(const ThreadId& thread) const {
        try {
            return graph_.getState({.thread_id = thread}, {.subgraphs = true});
        } catch (const MissingCheckpointerError&) {
            return {};
        }
    }
    Begin say(const ThreadId& thread, const Value& body) {
        const detail::Saying saying = detail::sayingOf(body, held_, [&] { return readConversation(thread); });
        return detail::sayingBegin(saying, begin(detail::updateFrom<Update<Input>>(saying.input)), begin(RESUME));
    }
    // A coroutine keeps arguments that are passed by value as long as it runs.
    template <class In>
    static Task<> run(CompiledGraph<S, Input, Output> graph, In input, RunConfig config) {
        Task<Result<Output>> ended = graph.asyncInvoke(std::move(input), config);
        [[maybe_unused]] const Result<Output> result = co_await std::move(ended);
        // A state that counts tokens, as an agent's does.
        if constexpr (requires { result.values.usage.total().input_tokens; })
            detail::tellUsage(config.observer, Value(result.values.usage.total()));
    }

    CompiledGraph<S, Input, Output> graph_;
    const detail::HeldMessages held_;
    const std::shared_ptr<detail::SentMessages> sent_;
    StreamHub hub_;
};

/// Makes an endpoint for a compiled graph.
template <class S, class Input, class Output>
std::shared_ptr<Endpoint> endpoint(const CompiledGraph<S, Input, Output>& graph, EndpointOptions options = {}) {
    return std::make_shared<GraphEndpoint<S, Input, Output>>(graph, std::move(options));
}

}  // namespace stategraph::serve
