#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <stategraph/error.hpp>
#include <stategraph/serve/wire_types.hpp>

#include "serve/chat.hpp"
#include "serve/reply.hpp"
#include "serve/run_replay.hpp"

// What each kind of request to an endpoint is answered with.
namespace stategraph::serve {

namespace {

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
    if (replay) replay->hold();
    return shared_->runs->reserve(endpoint, thread, std::move(replay));
}

/// Until the run has ended, whatever happens to this connection.
void Connection::recordRun(const std::shared_ptr<Endpoint>& endpoint, Subscription subscription,
                           const std::shared_ptr<ActiveRun>& run, bool takes_answers) {
    Recording recording{endpoint, findProtocol(*endpoint, "ui"), std::move(subscription), run, takes_answers};
    asio::co_spawn(socket_->get_executor(), record(std::move(recording), run->replay()), asio::detached);
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
        if (const char* const reason = Replay::reasonOf(run->replay()->state()))
            return textAnswer(request, http::status::service_unavailable, json_type, errorJson(reason));
        return Resumed{endpoint, &protocol, run};
    }
    SubscribeOptions options = subscribing(*shared_, protocol);
    options.until = route.parameter("follow") == "1" ? Until::closed : Until::idle;
    if (!from.empty()) options.from = StreamPosition::parse(from);
    return EventStream::Source{endpoint, &protocol,
                               endpoint->hub().subscribe(endpoint->threadOf(route.thread), options), nullptr};
}

}  // namespace stategraph::serve
