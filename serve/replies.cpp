#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <stategraph/error.hpp>
#include <stategraph/serve/wire_types.hpp>

#include "serve/chat.hpp"
#include "serve/chosen_protocol.hpp"
#include "serve/ownership.hpp"
#include "serve/reply.hpp"
#include "serve/run_replay.hpp"
#include "serve/run_watch.hpp"

// The operations of the server: the table of their targets, and the answers to them.
namespace stategraph::serve {

namespace {

SubscribeOptions subscribing(const Shared& shared, const Protocol& protocol) {
    SubscribeOptions options;
    options.modes = protocol.modes | StreamModes(StreamMode::runs);
    options.subgraphs = true;
    options.capacity = shared.options.events_max;
    options.capacity_bytes = shared.options.event_bytes_max;
    options.on_full = OnFull::coalesce;
    return options;
}

}  // namespace

/// The operations for one request, one function each. To add one, add a function, and its row in the table.
class Connection::Operations {
public:
    struct Row {
        using Function = Reply (Operations::*)();
        // The compiler refuses a row without a function.
        constexpr Row(std::string_view m, std::string_view t, Function f) : method(m), target(t), answer(f) {}

        std::string_view method;  // "GET" also answers "HEAD"
        std::string_view target;  // see Route::fits; the endpoint of ":endpoint" exists when `answer` is called
        Function answer;

        /// The last segment of its target; "page" for the row of pages.
        constexpr std::string_view name() const {
            return target.empty() ? "page" : target.substr(target.rfind('/') + 1);
        }
    };
    /// Returns the first row that matches the target, and sets what `route` names. A target that matches no other row
    /// belongs to a page.
    static const Row& rowOf(Route& route);
    /// Says that there is nothing at a path, and which targets there are.
    static std::string nothingAt(const std::string& path);

    Operations(Connection& connection, const Request& request, const Asked& asked,
               const std::shared_ptr<Endpoint>& endpoint)
        : connection_(connection), request_(request), asked_(asked), route_(asked.route), endpoint_(endpoint) {}

private:
    static std::span<const Row> rows();

    Reply health();
    Reply ready() { return Ready(); }
    Reply metrics() { return connection_.metrics(request_); }
    Reply page();
    Reply schema();
    Reply state();
    Reply history();
    Reply events();
    Reply start() { return run(Operation::start); }
    Reply resume() { return run(Operation::resume); }
    Reply decide() { return run(Operation::decide); }
    Reply cancel();
    Reply chat();
    Reply chatStream();

    Reply run(Operation operation);
    EventStream::Source subscribe(const Protocol& protocol);
    EventStream::Source begin(const Protocol& protocol, const ThreadId& thread, RunTable::Place& place,
                              const Begin& work, bool takes_answers, const ThreadOwner& found,
                              const ChatRequest& chat = {});
    /// `lines` is what a page that reconnects to the run is sent first.
    std::unique_ptr<RunTable::Place> reserve(const ThreadId& thread, const std::vector<std::string>& lines = {});
    void recordRun(Subscription subscription, const std::shared_ptr<ActiveRun>& run, bool takes_answers,
                   const ChatRequest& chat);
    /// Returns the checkpoint that the target names.
    Config config() const;
    /// Returns the position after which the client wants events; empty means from now on.
    std::string_view from() const;
    Answer json(http::status status, std::string text) const {
        return connection_.textAnswer(request_, status, json_type, std::move(text));
    }
    Shared& shared() const { return *connection_.shared_; }
    LookWhose whose() const { return connection_.lookWhose(asked_, endpoint_); }
    ErrorText errorText() const { return shared().errors.texts({route_.name, std::string(asked_.thread())}); }

    Connection& connection_;
    const Request& request_;
    const Asked& asked_;
    const Route& route_;
    const std::shared_ptr<Endpoint>& endpoint_;  // null if the row's target has no ":endpoint"
};

std::span<const Connection::Operations::Row> Connection::Operations::rows() {
    static constexpr Row all[] = {
        {"GET", "/health", &Operations::health},
        {"GET", "/ready", &Operations::ready},
        {"GET", "/metrics", &Operations::metrics},
        {"GET", "/:endpoint/schema", &Operations::schema},
        {"GET", "/:endpoint/:thread/state", &Operations::state},
        {"GET", "/:endpoint/:thread/history", &Operations::history},
        {"GET", "/:endpoint/:thread/events", &Operations::events},
        {"POST", "/:endpoint/:thread/start", &Operations::start},
        {"POST", "/:endpoint/:thread/resume", &Operations::resume},
        {"POST", "/:endpoint/:thread/decide", &Operations::decide},
        {"POST", "/:endpoint/:thread/cancel", &Operations::cancel},
        {"POST", "/:endpoint/chat", &Operations::chat},
        {"GET", "/:endpoint/chat/:thread/stream", &Operations::chatStream},
    };
    return all;
}

const Connection::Operations::Row& Connection::Operations::rowOf(Route& route) {
    static constexpr Row page_row{"GET", "", &Operations::page};
    for (const Row& row : rows()) {
        if (route.fits(row.target)) return row;
    }
    return page_row;
}

std::string Connection::Operations::nothingAt(const std::string& path) {
    std::string text = "there is nothing at " + path + "; the targets are ";
    const char* separator = "";
    for (const Row& row : rows()) {
        text.append(separator).append(row.method).append(" ").append(row.target);
        separator = ", ";
    }
    return errorJson(text);
}

Config Connection::Operations::config() const {
    Config config{.thread_id = route_.thread};
    if (const auto checkpoint = route_.parameter("checkpoint"); !checkpoint.empty())
        config.checkpoint_id = CheckpointId(checkpoint);
    return config;
}

Connection::Reply Connection::Operations::state() {
    const std::string text = endpoint_->state(config(), errorText());
    if (text.empty()) return connection_.noThread(request_, asked_);
    return json(http::status::ok, text + "\n");
}

Connection::Reply Connection::Operations::history() {
    HistoryOptions options;
    options.limit = 100;
    if (const auto limit = route_.parameter("limit"); !limit.empty()) {
        std::size_t number = 0;
        const auto [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), number);
        if (error != std::errc() || end != limit.data() + limit.size() || number < 1 || number > 1000) {
            throw InvalidArgumentError("limit must be a number from 1 to 1000");
        }
        options.limit = number;
    }
    if (const auto before = route_.parameter("before"); !before.empty()) options.before = CheckpointId(before);
    return json(http::status::ok, endpoint_->history(config(), options, errorText()) + "\n");
}

Connection::Reply Connection::Operations::schema() {
    static const Protocol own = ownEvents();
    const std::string_view as = route_.parameter("as");
    if (!as.empty() && as != "json" && as != "typescript") throw InvalidArgumentError("as must be json or typescript");
    const std::vector<Protocol>& given = endpoint_->options().protocols;
    std::vector<const Protocol*> protocols;
    for (const Protocol& each : given) protocols.push_back(&each);
    if (protocols.empty()) protocols.push_back(&own);
    std::string text;
    if (as == "typescript") {
        text = typeScript("State", endpoint_->stateSchema()) + typeScript("Input", endpoint_->inputSchema());
        for (const Protocol* const each : protocols)
            text += typeScript(identifierOf("Line_" + each->name), lineSchema(*each));
        return connection_.textAnswer(request_, http::status::ok, "text/plain; charset=utf-8", text);
    }
    text = "{\"state\":" + endpoint_->stateSchema() + ",\"input\":" + endpoint_->inputSchema() + ",\"protocols\":{";
    for (const Protocol* const each : protocols) {
        if (each != protocols.front()) text += ',';
        text += Value(each->name).toJson() + ":" + lineSchema(*each);
    }
    return json(http::status::ok, text + "}}\n");
}

Connection::Reply Connection::Operations::cancel() {
    const std::shared_ptr<ActiveRun> run = shared().runs->find(*endpoint_, route_.thread);
    endpoint_->cancel(route_.thread, run ? run->control().get() : nullptr);
    return json(http::status::ok, run ? "{\"cancelled\":\"run\"}\n" : "{\"cancelled\":\"thread\"}\n");
}

std::unique_ptr<RunTable::Place> Connection::Operations::reserve(const ThreadId& thread,
                                                                 const std::vector<std::string>& lines) {
    std::shared_ptr<Replay> replay;
    if (const ServerOptions& options = shared().options; findProtocol(*endpoint_, "ui") != nullptr) {
        const Replay::Limits limits{.bytes = options.replay_bytes_max,
                                    .transient_parts = options.events_max,
                                    .bytes_of_all = options.replay_bytes_all};
        replay = std::make_shared<Replay>(limits, shared().replay_bytes);
    }
    if (replay) {
        replay->hold();
        for (const std::string& line : lines) replay->add(line);
    }
    return shared().runs->reserve(endpoint_, thread, std::move(replay), asked_.identity ? asked_.identity->name : "");
}

/// Records until the run has ended, even if this connection is closed.
void Connection::Operations::recordRun(Subscription subscription, const std::shared_ptr<ActiveRun>& run,
                                       bool takes_answers, const ChatRequest& chat) {
    Recording recording{
        endpoint_, findProtocol(*endpoint_, "ui"), std::move(subscription), run, takes_answers, chat.shown, errorText(),
        whose()};
    asio::co_spawn(connection_.socket_->get_executor(), record(std::move(recording), run->replay()), asio::detached);
}

EventStream::Source Connection::Operations::begin(const Protocol& protocol, const ThreadId& thread,
                                                  RunTable::Place& place, const Begin& work, bool takes_answers,
                                                  const ThreadOwner& found, const ChatRequest& chat) {
    SubscribeOptions options = subscribing(shared(), protocol);
    options.until = endpoint_->options().close_on_suspend ? Until::run_end : Until::closed;
    const ThreadId name = endpoint_->threadOf(thread);
    EventStream::Source source{endpoint_,   &protocol,     endpoint_->hub().subscribe(name, options),
                               nullptr,     takes_answers, chat.shown,
                               errorText(), whose(),       thread};
    std::vector<std::shared_ptr<stategraph::detail::SubscriptionImpl>> readers{source.subscription.impl()};
    if (place.run()->replay()) {
        options = subscribing(shared(), *findProtocol(*endpoint_, "ui"));
        options.until = Until::run_end;
        Subscription recorded = endpoint_->hub().subscribe(name, options);
        readers.push_back(recorded.impl());
        place.run()->tell(std::move(readers));
        recordRun(std::move(recorded), place.run(), takes_answers, chat);
    } else {
        place.run()->tell(std::move(readers));
    }
    RunConfig config = endpoint_->options().config;
    config.only_new = config.only_new || route_.parameter("only_new") == "1";
    if (asked_.identity) runAs(*asked_.identity, config);
    if (shared().options.owned) runOnlyOn(found, config);
    source.run = place.begin(watched(connection_.shared_, asked_, work), std::move(config));
    return source;
}

Connection::Reply Connection::Operations::run(Operation operation) {
    const Protocol& protocol = chooseProtocol(*endpoint_, route_.parameter("protocol"));
    const Value body = bodyOf(request_);
    const ThreadId thread = route_.thread;
    const bool is_only_new = route_.parameter("only_new") == "1" || endpoint_->options().config.only_new;
    const bool is_first = operation == Operation::start && !is_only_new && route_.parameter("again") != "1";
    // From here on, no other run of this server can begin on the thread, so open questions stay open.
    const auto place = reserve(thread);
    const std::optional<ThreadOwner> found = connection_.threadFor(asked_, *endpoint_);
    if (!found) return connection_.noThread(request_, asked_);
    if (is_first && endpoint_->hasEnded(thread)) {
        return json(http::status::conflict,
                    errorJson("the thread '" + route_.thread + "' has ended; to begin on it again, add ?again=1"));
    }
    Begin work;
    try {
        work = endpoint_->prepare(operation, thread, body);
    } catch (const InvalidUpdateError& why) {
        return json(http::status::bad_request, errorJson(why));
    } catch (const InvalidArgumentError& why) {
        // An answer that is not expected is not a mistake in the request: another client may have been first.
        const bool is_answer = operation != Operation::start;
        return json(is_answer ? http::status::conflict : http::status::bad_request, errorJson(why));
    }
    return begin(protocol, thread, *place, work, operation != Operation::start, *found);
}

Connection::Reply Connection::Operations::chat() {
    const Protocol& protocol = uiProtocol(*endpoint_);
    if (asked_.unread_chat) std::rethrow_exception(asked_.unread_chat);
    const ChatRequest& chat = *asked_.chat;
    const ThreadId thread = chat.thread;
    const auto place = reserve(thread, chat.message);
    const std::optional<ThreadOwner> found = connection_.threadFor(asked_, *endpoint_);
    if (!found) return connection_.noThread(request_, asked_);
    try {
        const Begin work = chat.decisions.isNull() ? endpoint_->prepare(Operation::start, thread, chat.start)
                                                   : endpoint_->prepare(Operation::decide, thread, chat.decisions);
        return begin(protocol, thread, *place, work, !chat.decisions.isNull(), *found, chat);
    } catch (const InvalidArgumentError& why) {
        if (chat.decisions.isNull()) throw;
        return json(http::status::conflict, errorJson(why));
    }
}

std::string_view Connection::Operations::from() const {
    const std::string_view last = request_["Last-Event-ID"];
    return last.empty() ? route_.parameter("from") : last;
}

EventStream::Source Connection::Operations::subscribe(const Protocol& protocol) {
    SubscribeOptions options = subscribing(shared(), protocol);
    options.until = route_.parameter("follow") == "1" ? Until::closed : Until::idle;
    if (!from().empty()) options.from = StreamPosition::parse(from());
    return EventStream::Source{
        endpoint_,   &protocol, endpoint_->hub().subscribe(endpoint_->threadOf(route_.thread), options),
        nullptr,     false,     {},
        errorText(), whose(),   ThreadId(route_.thread)};
}

Connection::Reply Connection::Operations::events() {
    return subscribe(chooseProtocol(*endpoint_, route_.parameter("protocol")));
}

Connection::Reply Connection::Operations::chatStream() {
    const Protocol& protocol = uiProtocol(*endpoint_);
    if (!from().empty()) return subscribe(protocol);
    // The AI SDK asks whether there is a response to which it can reconnect.
    const std::shared_ptr<ActiveRun> run = shared().runs->find(*endpoint_, route_.thread);
    if (!run) return json(http::status::no_content, {});
    if (const char* const reason = Replay::reasonOf(run->replay()->state()))
        return json(http::status::service_unavailable, errorJson(reason));
    return Resumed{endpoint_, &protocol, run};
}

Connection::Reply Connection::Operations::health() {
    return json(http::status::ok, "{\"runs\":" + std::to_string(shared().runs->size()) +
                                      ",\"connections\":" + std::to_string(shared().connections) + "}\n");
}

Connection::Reply Connection::Operations::page() {
    const stategraph::detail::LockGuard lock(shared().mutex);
    const auto page = shared().pages.find(route_.path);
    if (page == shared().pages.end()) return json(http::status::not_found, nothingAt(route_.path));
    return connection_.textAnswer(request_, http::status::ok, page->second.content_type, page->second.text);
}

Asked Connection::targetOf(const Request& request) const {
    Asked asked{.route = routeOf(request.target())};
    asked.handler = shared_->handler(asked.route.segments.front());
    if (asked.handler) {
        asked.operation = "handler";
        return asked;
    }
    const Operations::Row& row = Operations::rowOf(asked.route);
    asked.operation = row.name();
    asked.takes_json = row.method == "POST" && request.method() == http::verb::post;
    return asked;
}

Connection::Reply Connection::dispatch(const Request& request, const Asked& asked) {
    if (asked.handler) return handled(request, asked);
    Route route = asked.route;
    const Operations::Row& row = Operations::rowOf(route);
    const std::string_view method = request.method_string();
    if (method != row.method && !(method == "HEAD" && row.method == "GET")) {
        if (row.target.empty() && !shared_->hasPage(route.path))
            return textAnswer(request, http::status::not_found, json_type, Operations::nothingAt(route.path));
        return textAnswer(request, http::status::method_not_allowed, json_type,
                          errorJson(route.path + " takes " + std::string(row.method) + ", not " + std::string(method)));
    }
    std::shared_ptr<Endpoint> endpoint;
    if (row.target.starts_with("/:endpoint")) {
        endpoint = shared_->endpoint(route.name);
        if (!endpoint) {
            return textAnswer(request, http::status::not_found, json_type,
                              errorJson("there is no endpoint '" + route.name + "'"));
        }
    }
    if (endpoint && row.method == "POST" && endpoint->options().read_only) {
        return textAnswer(request, http::status::forbidden, json_type,
                          errorJson("the endpoint '" + route.name + "' is read-only; see EndpointOptions::read_only"));
    }
    if (endpoint && shared_->options.owned) {
        if (std::optional<Answer> refused = refusalOfOwned(request, asked, *endpoint)) return *std::move(refused);
    }
    Operations operations(*this, request, asked, endpoint);
    return (operations.*row.answer)();
}

}  // namespace stategraph::serve
