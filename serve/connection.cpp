#include "serve/connection.hpp"

#include <algorithm>
#include <charconv>
#include <variant>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stategraph/error.hpp>
#include <stategraph/serve/wire_types.hpp>

#include "serve/chat.hpp"
#include "serve/run_replay.hpp"

namespace stategraph::serve {

namespace {

constexpr int busy_tries = 5;
constexpr const char* too_long =
    "the response is longer than the server keeps (ServerOptions::replay_bytes_max); load the conversation when the run"
    " has ended";
constexpr const char* json_type = "application/json; charset=utf-8";

class View final : public RequestView {
public:
    explicit View(const Request& request) : request_(request) {}
    std::string_view method() const override { return request_.method_string(); }
    std::string_view target() const override { return request_.target(); }
    std::string_view header(std::string_view name) const override { return request_[name]; }

private:
    const Request& request_;
};

/// The endpoint's protocol that the client asks for. Errors: InvalidArgumentError that lists them.
const Protocol& chooseProtocol(const Endpoint& endpoint, std::string_view name) {
    static const Protocol own = ownEvents();
    const std::vector<Protocol>& all = endpoint.options().protocols;
    if (all.empty() && (name.empty() || name == own.name)) return own;
    std::string names;
    for (const Protocol& each : all) {
        if (name.empty() || each.name == name) return each;
        names += (names.empty() ? "" : ", ") + each.name;
    }
    throw InvalidArgumentError("this endpoint has no protocol '" + std::string(name) +
                               "'; it has: " + (all.empty() ? own.name : names));
}

/// Null if the endpoint has none of that name.
const Protocol* findProtocol(const Endpoint& endpoint, std::string_view name) noexcept {
    for (const Protocol& each : endpoint.options().protocols) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

/// An endpoint may leave "ui" out of its protocols, and serve the AI SDK all the same where it has one.
const Protocol& uiProtocol(const Endpoint& endpoint) { return chooseProtocol(endpoint, "ui"); }

Value bodyOf(const Request& request) {
    const std::string& text = request.body();
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) return {};
    return parseJson(text);
}

Operation operationOf(Action action) noexcept {
    switch (action) {
        case Action::start:
            return Operation::start;
        case Action::decide:
            return Operation::decide;
        default:
            return Operation::resume;
    }
}

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

namespace {

/// A run that a client comes back to.
struct Resumed {
    std::shared_ptr<Endpoint> endpoint;
    const Protocol* protocol;  // the endpoint's
    std::shared_ptr<ActiveRun> run;
};

}  // namespace

struct Connection::Reply : std::variant<Answer, EventStream::Source, Resumed> {
    using variant::variant;
};

Connection::Connection(std::shared_ptr<Shared> shared, asio::ip::tcp::socket socket)
    : shared_(std::move(shared)), socket_(std::make_shared<Socket>(std::move(socket))) {
    ++shared_->connections;
}

Connection::~Connection() { --shared_->connections; }

void Connection::close() noexcept {
    try {
        asio::post(socket_->get_executor(), [socket = socket_] { socket->close(); });
    } catch (const std::exception&) {  // no memory; the socket's time limit ends it
    }
}

asio::awaitable<void> Connection::serve() {
    const auto self = shared_from_this();
    for (;;) {
        http::request_parser<http::string_body> parser;
        parser.body_limit(shared_->options.body_bytes_max);
        parser.header_limit(static_cast<std::uint32_t>(shared_->options.header_bytes_max));
        socket_->expires_after(shared_->options.request_timeout);
        auto [error, size] = co_await http::async_read(*socket_, buffer_, parser, asio::as_tuple(asio::use_awaitable));
        socket_->expires_never();
        if (error) {
            co_await refuseUnread(error);
            break;
        }
        const Request request = parser.release();
        const bool goes_on = co_await answer(request);
        if (!goes_on || shared_->is_draining) break;
    }
    boost::system::error_code ignored;
    socket_->socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    socket_->close();
}

asio::awaitable<bool> Connection::answer(const Request& request) {
    std::optional<Reply> made;
    std::exception_ptr failed;
    // A run whose end was told is under way for some microseconds more.
    for (int left = busy_tries; left > 0 && !made; --left) {
        bool is_busy = false;
        try {
            made = reply(request);
        } catch (const ThreadBusyError&) {
            failed = std::current_exception();
            is_busy = true;
        } catch (...) {
            failed = std::current_exception();
        }
        if (!is_busy) break;
        asio::steady_timer wait(socket_->get_executor(), std::chrono::milliseconds(2));
        boost::system::error_code ignored;
        co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    if (made && std::holds_alternative<Answer>(*made)) {
        const bool goes_on = co_await send(std::get<Answer>(std::move(*made)));
        co_return goes_on;
    }
    if (made && std::holds_alternative<Resumed>(*made)) {
        const Resumed& from = std::get<Resumed>(*made);
        const bool goes_on = co_await replay(shared_, socket_, *from.protocol, from.run, request);
        co_return goes_on;
    }
    if (made) {
        EventStream stream(shared_, socket_, std::get<EventStream::Source>(std::move(*made)), request);
        made.reset();
        try {
            const bool goes_on = co_await stream.run();
            co_return goes_on;
        } catch (...) {
            failed = std::current_exception();
        }
    }
    const Failure failure = failureOf(failed);
    const bool goes_on = co_await refuse(request, failure.status, failure.text);
    co_return goes_on;
}

asio::awaitable<bool> Connection::refuse(const Request& request, http::status status, const std::string& why) {
    const bool goes_on = co_await send(textAnswer(request, status, json_type, errorJson(why)));
    co_return goes_on;
}

asio::awaitable<bool> Connection::refuseUnread(const boost::system::error_code& error) {
    http::status status = http::status::bad_request;
    if (error == http::error::end_of_stream || error == beast::error::timeout ||
        error == asio::error::operation_aborted || error.category() == asio::error::get_system_category()) {
        co_return false;  // nobody is there to be told
    }
    if (error == http::error::body_limit) status = http::status::payload_too_large;
    if (error == http::error::header_limit) status = http::status::request_header_fields_too_large;
    Request none;
    none.version(11);
    none.keep_alive(false);
    const bool sent = co_await refuse(none, status, "the request cannot be read: " + error.message());
    co_return sent && false;
}

asio::awaitable<bool> Connection::send(Answer given) {
    const Answer answer = std::move(given);
    socket_->expires_after(shared_->options.write_timeout);
    auto [error, size] = co_await http::async_write(*socket_, answer, asio::as_tuple(asio::use_awaitable));
    socket_->expires_never();
    co_return !error && answer.keep_alive();
}

Answer Connection::textAnswer(const Request& request, http::status status, std::string type, std::string text) const {
    Answer answer(status, request.version());
    answer.set(http::field::content_type, type);
    answer.set(http::field::cache_control, "no-store");
    answer.set("X-Content-Type-Options", "nosniff");
    if (!shared_->options.allow_origin.empty()) {
        answer.set(http::field::access_control_allow_origin, shared_->options.allow_origin);
        answer.set(http::field::access_control_allow_headers, "content-type, authorization, last-event-id");
        answer.set(http::field::access_control_allow_methods, "GET, POST");
    }
    answer.keep_alive(request.keep_alive() && !shared_->is_draining);
    answer.body() = std::move(text);
    answer.prepare_payload();
    if (request.method() == http::verb::head) answer.body().clear();  // the length stays
    return answer;
}

bool Connection::isAllowedHost(std::string_view host) const {
    const std::vector<std::string>& hosts = shared_->options.hosts;
    if (hosts.empty()) return true;
    const std::size_t bracket = host.find(']');
    const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
    const std::string_view name = host.substr(0, colon);
    return std::find(hosts.begin(), hosts.end(), name) != hosts.end();
}

Connection::Reply Connection::reply(const Request& request) {
    const auto refused = [&](http::status status, const std::string& why) {
        return textAnswer(request, status, json_type, errorJson(why));
    };
    if (!isAllowedHost(request[http::field::host])) {
        return refused(http::status::misdirected_request,
                       "this server does not answer to that name; see ServerOptions::hosts");
    }
    if (request.method() == http::verb::options && !shared_->options.allow_origin.empty()) {
        return textAnswer(request, http::status::no_content, json_type, {});
    }
    if (shared_->options.authorize) {
        const int status = shared_->options.authorize(View(request));
        if (status != 0)
            return refused(http::int_to_status(static_cast<unsigned>(status)), "the request is not authorized");
    }
    const Route route = routeOf(request.target());
    if (!takes(route.action, request.method_string()))
        return refused(http::status::method_not_allowed, "this takes another method");
    if (route.action == Action::health) {
        return textAnswer(request, http::status::ok, json_type,
                          "{\"runs\":" + std::to_string(shared_->runs->size()) +
                              ",\"connections\":" + std::to_string(shared_->connections) + "}\n");
    }
    if (route.action == Action::page) {
        const std::lock_guard lock(shared_->mutex);
        const auto page = shared_->pages.find(route.path);
        if (page == shared_->pages.end()) return refused(http::status::not_found, "there is nothing at " + route.path);
        return textAnswer(request, http::status::ok, page->second.content_type, page->second.text);
    }
    const std::shared_ptr<Endpoint> endpoint = shared_->endpoint(route.name);
    if (!endpoint) return refused(http::status::not_found, "there is no endpoint '" + route.name + "'");
    switch (route.action) {
        case Action::state:
        case Action::history:
            return lookOf(request, route, endpoint);
        case Action::schema:
            return schemaOf(request, route, *endpoint);
        case Action::cancel:
            return cancel(request, route, endpoint);
        case Action::events:
        case Action::chat_stream:
            return eventsOf(request, route, endpoint);
        case Action::chat:
            return chatOf(request, route, endpoint);
        default:
            return runOf(request, route, endpoint);
    }
}

Connection::Reply Connection::lookOf(const Request& request, const Route& route,
                                     const std::shared_ptr<Endpoint>& endpoint) {
    Config config{.thread_id = route.thread};
    if (const auto checkpoint = route.parameter("checkpoint"); !checkpoint.empty())
        config.checkpoint_id = CheckpointId(checkpoint);
    if (route.action == Action::state)
        return textAnswer(request, http::status::ok, json_type, endpoint->state(config) + "\n");
    HistoryOptions options;
    options.limit = 100;
    if (const auto limit = route.parameter("limit"); !limit.empty()) {
        std::size_t number = 0;
        const auto [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), number);
        if (error != std::errc() || end != limit.data() + limit.size() || number < 1 || number > 1000) {
            throw InvalidArgumentError("limit must be a number from 1 to 1000");
        }
        options.limit = number;
    }
    if (const auto before = route.parameter("before"); !before.empty()) options.before = CheckpointId(before);
    return textAnswer(request, http::status::ok, json_type, endpoint->history(config, options) + "\n");
}

Connection::Reply Connection::schemaOf(const Request& request, const Route& route, const Endpoint& endpoint) const {
    static const Protocol own = ownEvents();
    const std::string_view as = route.parameter("as");
    if (!as.empty() && as != "json" && as != "typescript") throw InvalidArgumentError("as must be json or typescript");
    const std::vector<Protocol>& given = endpoint.options().protocols;
    std::vector<const Protocol*> protocols;
    for (const Protocol& each : given) protocols.push_back(&each);
    if (protocols.empty()) protocols.push_back(&own);
    std::string text;
    if (as == "typescript") {
        text = typeScript("State", endpoint.stateSchema()) + typeScript("Input", endpoint.inputSchema());
        for (const Protocol* const each : protocols)
            text += typeScript(identifierOf("Line_" + each->name), lineSchema(*each));
        return textAnswer(request, http::status::ok, "text/plain; charset=utf-8", text);
    }
    text = "{\"state\":" + endpoint.stateSchema() + ",\"input\":" + endpoint.inputSchema() + ",\"protocols\":{";
    for (const Protocol* const each : protocols) {
        if (each != protocols.front()) text += ',';
        text += Value(each->name).toJson() + ":" + lineSchema(*each);
    }
    return textAnswer(request, http::status::ok, json_type, text + "}}\n");
}

Connection::Reply Connection::cancel(const Request& request, const Route& route,
                                     const std::shared_ptr<Endpoint>& endpoint) {
    const std::shared_ptr<ActiveRun> run = shared_->runs->find(*endpoint, route.thread);
    endpoint->cancel(route.thread, run ? run->control().get() : nullptr);
    return textAnswer(request, http::status::ok, json_type,
                      run ? "{\"cancelled\":\"run\"}\n" : "{\"cancelled\":\"thread\"}\n");
}

std::unique_ptr<RunTable::Place> Connection::reserve(const std::shared_ptr<Endpoint>& endpoint,
                                                     const ThreadId& thread) {
    std::shared_ptr<Replay> replay;
    if (const ServerOptions& options = shared_->options; findProtocol(*endpoint, "ui") != nullptr) {
        const Replay::Limits limits{.bytes = options.replay_bytes_max,
                                    .transient_parts = options.events_max,
                                    .bytes_of_all = options.replay_bytes_all};
        replay = std::make_shared<Replay>(limits, shared_->replay_bytes);
    }
    return shared_->runs->reserve(endpoint, thread, std::move(replay));
}

/// Until the run has ended, whatever happens to this connection.
void Connection::recordRun(const std::shared_ptr<Endpoint>& endpoint, Subscription subscription,
                           const std::shared_ptr<ActiveRun>& run, bool takes_answers) {
    Recording recording{endpoint, findProtocol(*endpoint, "ui"), std::move(subscription), run, takes_answers};
    asio::co_spawn(asio::make_strand(shared_->sockets), record(std::move(recording), run->replay()), asio::detached);
}

EventStream::Source Connection::begin(const std::shared_ptr<Endpoint>& endpoint, const Protocol& protocol,
                                      const ThreadId& thread, RunTable::Place& place, const Begin& work,
                                      bool takes_answers) {
    SubscribeOptions options = subscribing(*shared_, protocol);
    options.until = endpoint->options().close_on_suspend ? Until::run_end : Until::closed;
    const ThreadId name = endpoint->threadOf(thread);
    EventStream::Source source{endpoint, &protocol, endpoint->hub().subscribe(name, options), nullptr, takes_answers};
    std::vector<std::shared_ptr<stategraph::detail::SubscriptionImpl>> readers{source.subscription.impl()};
    if (place.run()->replay()) {
        options = subscribing(*shared_, *findProtocol(*endpoint, "ui"));
        options.until = Until::run_end;
        Subscription recorded = endpoint->hub().subscribe(name, options);
        readers.push_back(recorded.impl());
        place.run()->tell(std::move(readers));
        recordRun(endpoint, std::move(recorded), place.run(), takes_answers);
    } else {
        place.run()->tell(std::move(readers));
    }
    source.run = place.begin(work);
    return source;
}

Connection::Reply Connection::runOf(const Request& request, const Route& route,
                                    const std::shared_ptr<Endpoint>& endpoint) {
    const Protocol& protocol = chooseProtocol(*endpoint, route.parameter("protocol"));
    const Value body = bodyOf(request);
    const ThreadId thread = route.thread;
    // From here on nobody else runs the thread here: what is found open stays open.
    const auto place = reserve(endpoint, thread);
    Begin work;
    try {
        work = endpoint->prepare(operationOf(route.action), thread, body);
    } catch (const InvalidUpdateError& why) {
        return textAnswer(request, http::status::bad_request, json_type, errorJson(why.what()));
    } catch (const InvalidArgumentError& why) {
        // An answer that nobody waits for is no mistake in the request: somebody else was first.
        const bool is_answer = route.action != Action::start;
        return textAnswer(request, is_answer ? http::status::conflict : http::status::bad_request, json_type,
                          errorJson(why.what()));
    }
    return begin(endpoint, protocol, thread, *place, work, route.action != Action::start);
}

Connection::Reply Connection::chatOf(const Request& request, const Route&, const std::shared_ptr<Endpoint>& endpoint) {
    const Protocol& protocol = uiProtocol(*endpoint);
    const ChatRequest chat = readChat(bodyOf(request));
    const ThreadId thread = chat.thread;
    const auto place = reserve(endpoint, thread);
    try {
        const std::map<std::string, std::string> start{{"text", chat.text}};
        const Begin work = chat.decisions.isNull() ? endpoint->prepare(Operation::start, thread, Value(start))
                                                   : endpoint->prepare(Operation::decide, thread, chat.decisions);
        return begin(endpoint, protocol, thread, *place, work, !chat.decisions.isNull());
    } catch (const InvalidArgumentError& why) {
        if (chat.decisions.isNull()) throw;
        return textAnswer(request, http::status::conflict, json_type, errorJson(why.what()));
    }
}

Connection::Reply Connection::eventsOf(const Request& request, const Route& route,
                                       const std::shared_ptr<Endpoint>& endpoint) {
    const bool is_chat = route.action == Action::chat_stream;
    const Protocol& protocol = is_chat ? uiProtocol(*endpoint) : chooseProtocol(*endpoint, route.parameter("protocol"));
    std::string_view from = request["Last-Event-ID"];
    if (from.empty()) from = route.parameter("from");
    // The AI SDK asks whether there is something to come back to.
    if (is_chat && from.empty()) {
        const std::shared_ptr<ActiveRun> run = shared_->runs->find(*endpoint, route.thread);
        if (!run) return textAnswer(request, http::status::no_content, json_type, {});
        if (run->replay()->isTooLong()) {
            return textAnswer(request, http::status::service_unavailable, json_type, errorJson(too_long));
        }
        return Resumed{endpoint, &protocol, run};
    }
    SubscribeOptions options = subscribing(*shared_, protocol);
    options.until = route.parameter("follow") == "1" ? Until::closed : Until::idle;
    if (!from.empty()) options.from = StreamPosition::parse(from);
    return EventStream::Source{endpoint, &protocol,
                               endpoint->hub().subscribe(endpoint->threadOf(route.thread), options), nullptr};
}

}  // namespace stategraph::serve
