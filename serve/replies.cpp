#include <algorithm>
#include <charconv>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/serve/wire_types.hpp>

#include "serve/chosen_protocol.hpp"
#include "serve/operations.hpp"
#include "serve/ownership.hpp"
#include "serve/run_watch.hpp"

// The operations of the server: the table of their targets, and the answers to them.
namespace stategraph::serve {

std::span<const Connection::Operations::Row> Connection::Operations::rows() {
    static constexpr Row all[] = {
        {"GET", "/health", &Operations::health},
        {"GET", "/ready", &Operations::ready},
        {"GET", "/metrics", &Operations::metrics},
        {"GET", "/:endpoint/schema", &Operations::schema},
        {"GET", "/:endpoint/:thread/state", &Operations::state},
        {"GET", "/:endpoint/:thread/history", &Operations::history},
        {"GET", "/:endpoint/:thread/messages", &Operations::messages},
        {"GET", "/:endpoint/:thread/events", &Operations::events},
        {"POST", "/:endpoint/:thread/start", &Operations::start},
        {"POST", "/:endpoint/:thread/resume", &Operations::resume},
        {"POST", "/:endpoint/:thread/decide", &Operations::decide},
        {"POST", "/:endpoint/:thread/cancel", &Operations::cancel},
        {"POST", "/:endpoint/chat", &Operations::chat},
        {"GET", "/:endpoint/chat/:thread/stream", &Operations::chatStream},
        {"POST", "/:endpoint/ag-ui", &Operations::agUi},
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
    const std::string text = endpoint_->state(config(), {}, errorText());
    if (text.empty()) return connection_.noThread(request_, asked_);
    return json(http::status::ok, text + "\n");
}

std::size_t Connection::Operations::limit() const {
    const std::string_view text = route_.parameter("limit");
    if (text.empty()) return 100;
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > 1000)
        throw InvalidArgumentError("limit must be a number from 1 to 1000");
    return number;
}

Connection::Reply Connection::Operations::history() {
    HistoryOptions options;
    options.limit = limit();
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

namespace {

/// Begins a turn with the messages that the run which has just ended did not take. They stay stored if it cannot begin.
void beginSent(const std::shared_ptr<Shared>& shared, const Asked& asked, const std::shared_ptr<Endpoint>& endpoint,
               const ThreadId& thread) noexcept {
    try {
        Begin work = endpoint->takeSent(thread);
        if (!work) return;
        RunConfig config = endpoint->options().config;
        if (asked.identity) runAs(*asked.identity, config);
        const auto place = shared->runs->reserve(endpoint, thread, {}, asked.identity ? asked.identity->name : "");
        work = endpoint->takeSent(thread);  // another request's run may have taken them meanwhile
        if (!work) return;
        place->begin(watched(shared, asked, std::move(work)), std::move(config),
                     [=] { beginSent(shared, asked, endpoint, thread); });
    } catch (const std::exception&) {  // another request has the thread, or the server is ending
    }
}

}  // namespace

EventStream::Source Connection::Operations::begin(const Protocol& protocol, const ThreadId& thread,
                                                  RunTable::Place& place, const Begin& work, bool takes_answers,
                                                  const ThreadOwner& found, Opening opening) {
    SubscribeOptions options = subscribing(protocol);
    options.until = endpoint_->options().close_on_suspend ? Until::run_end : Until::closed;
    const ThreadId name = endpoint_->threadOf(thread);
    EventStream::Source source{endpoint_,   &protocol,     endpoint_->hub().subscribe(name, options),
                               nullptr,     takes_answers, opening,
                               errorText(), whose(),       thread};
    std::vector<std::shared_ptr<stategraph::detail::SubscriptionImpl>> readers{source.subscription.impl()};
    if (place.run()->replay()) {
        options = subscribing(*findProtocol(*endpoint_, "ui"));
        options.until = Until::run_end;
        Subscription recorded = endpoint_->hub().subscribe(name, options);
        readers.push_back(recorded.impl());
        place.run()->tell(std::move(readers));
        recordRun(std::move(recorded), place.run(), takes_answers, opening);
    } else {
        place.run()->tell(std::move(readers));
    }
    RunConfig config = endpoint_->options().config;
    config.only_new = config.only_new || route_.parameter("only_new") == "1";
    if (asked_.identity) runAs(*asked_.identity, config);
    if (shared().options.owned) runOnlyOn(found, config);
    Asked again = asked_;
    again.chat.reset();
    again.ag_ui.reset();
    source.run = place.begin(watched(connection_.shared_, asked_, work), std::move(config),
                             [shared = connection_.shared_, again = std::move(again), endpoint = endpoint_, thread] {
                                 beginSent(shared, again, endpoint, thread);
                             });
    return source;
}

Connection::Reply Connection::Operations::run(Operation operation) {
    const Protocol& protocol = chooseProtocol(*endpoint_, route_.parameter("protocol"));
    const Value body = bodyOf(request_);
    const ThreadId thread = route_.thread;
    const bool is_only_new = route_.parameter("only_new") == "1" || endpoint_->options().config.only_new;
    const bool speaks = operation == Operation::start && endpoint_->holdsMessages() && detail::saysText(body);
    const bool is_first = operation == Operation::start && !speaks && !is_only_new && route_.parameter("again") != "1";
    const std::string_view strategy = route_.parameter("multitask_strategy");
    // From here on, no other run of this server can begin on the thread, so open questions stay open.
    std::unique_ptr<RunTable::Place> place;
    try {
        place = reserve(thread);
    } catch (const ThreadStoppingError&) {
        throw;
    } catch (const ThreadBusyError&) {
        if (operation != Operation::start || strategy.empty()) throw;
        if (std::optional<Reply> sent = sendToRun(protocol, thread, body, strategyOf(strategy)))
            return *std::move(sent);
        throw;
    }
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
    return begin(protocol, thread, *place, work, operation != Operation::start, *found, answering(work, thread));
}

std::string_view Connection::Operations::from() const {
    const std::string_view last = request_["Last-Event-ID"];
    return last.empty() ? route_.parameter("from") : last;
}

SubscribeOptions Connection::Operations::subscribing(const Protocol& protocol) const {
    SubscribeOptions options;
    options.modes = protocol.modes | StreamModes(StreamMode::runs);
    options.subgraphs = true;
    options.task_inputs = protocol.task_inputs;
    options.capacity = shared().options.events_max;
    options.capacity_bytes = shared().options.event_bytes_max;
    options.on_full = OnFull::coalesce;
    return options;
}

EventStream::Source Connection::Operations::subscribe(const Protocol& protocol) {
    SubscribeOptions options = subscribing(protocol);
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
    if (endpoint && endpoint->isReserved(ThreadId(asked.thread()))) return noThread(request, asked);
    if (endpoint && shared_->options.owned) {
        if (std::optional<Answer> refused = refusalOfOwned(request, asked, *endpoint)) return *std::move(refused);
    }
    Operations operations(*this, request, asked, endpoint);
    return (operations.*row.answer)();
}

}  // namespace stategraph::serve
