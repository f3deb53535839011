#include <utility>
#include <vector>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "serve/audit.hpp"
#include "serve/reply.hpp"

// What an operator asks for and is told, and what a client may not ask for.
namespace stategraph::serve {

namespace {

using Clock = std::chrono::steady_clock;

// How long /ready waits for the stores.
constexpr auto ready_patience = std::chrono::seconds(3);
constexpr auto ready_pause = std::chrono::milliseconds(2);

bool isForOperator(const Asked& asked) noexcept {
    return asked.operation == "health" || asked.operation == "ready" || asked.operation == "metrics";
}

bool beginsRun(const Request& request, const Asked& asked) noexcept {
    const std::string_view name = asked.operation;
    return request.method() == http::verb::post &&
           (name == "start" || name == "resume" || name == "decide" || name == "chat" ||
            (name == "ag-ui" && !(asked.ag_ui && !asked.ag_ui->beginsRun())));
}

bool mayStream(const Request& request, const Asked& asked) noexcept {
    return beginsRun(request, asked) || asked.isConversation() || asked.operation == "events" ||
           asked.operation == "stream" || asked.handler;
}

Client clientOf(const Asked& asked) {
    const bool is_somebody = asked.identity && !asked.identity->name.empty();
    return is_somebody ? clientNamed(asked.identity->name) : clientAt(asked.remote);
}

}  // namespace

Answer Connection::tooMany(const Request& request, const char* limit, std::chrono::seconds wait) const {
    shared_->metrics.countRefused(std::string("per_client.") + limit);
    const std::string seconds = std::to_string(wait.count());
    Answer answer = textAnswer(
        request, http::status::too_many_requests, json_type,
        errorJson("this client has reached its limit (" + std::string(limit) + "); try again in " + seconds + " s"));
    answer.set(http::field::retry_after, seconds);
    return answer;
}

std::optional<Answer> Connection::refusalOfAddress(const Request& request, const Asked& asked) const {
    if (isForOperator(asked)) return {};
    const auto wait = shared_->requests_left.waitOf(clientAt(asked.remote), Clock::now());
    if (!wait) return {};
    return tooMany(request, "requests", *wait);
}

std::optional<Answer> Connection::refusalByRates(const Request& request, const Asked& asked, bool is_refused) const {
    if (isForOperator(asked)) return {};
    const Client client = clientOf(asked);
    const auto now = Clock::now();
    if (const auto wait = shared_->requests_left.take(client, 1, now)) return tooMany(request, "requests", *wait);
    if (is_refused || !beginsRun(request, asked)) return {};
    const auto bytes = static_cast<double>(request.body().size());
    if (const auto wait = shared_->bytes_left.take(client, bytes, now)) return tooMany(request, "stored_bytes", *wait);
    return refusalOfRun(request, asked);
}

std::optional<Answer> Connection::refusalOfRun(const Request& request, const Asked& asked) const {
    const auto wait = shared_->runs_left.take(clientOf(asked), 1, Clock::now());
    if (!wait) return {};
    return tooMany(request, "runs", *wait);
}

std::optional<Answer> Connection::refusalOfStream(const Request& request, const Asked& asked,
                                                  Held::Place& place) const {
    if (!mayStream(request, asked) || shared_->held_streams->take(clientOf(asked).key, place)) return {};
    return tooMany(request, "streams_max", std::chrono::seconds(1));
}

asio::awaitable<Answer> Connection::ready(const Request& request) {
    std::string why;
    if (shared_->is_draining) {
        why = "the server drains";
    } else {
        Readiness::Endpoints endpoints;
        {
            const stategraph::detail::LockGuard lock(shared_->mutex);
            endpoints = shared_->endpoints;
        }
        shared_->readiness.look(endpoints, shared_->metrics);
        std::optional<std::string> failed = shared_->readiness.result();
        asio::steady_timer wait(socket_->get_executor());
        for (const auto until = Clock::now() + ready_patience; !failed && Clock::now() < until;) {
            wait.expires_after(ready_pause);
            boost::system::error_code ignored;
            co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
            failed = shared_->readiness.result();
        }
        if (!failed) {
            why = "a store has not answered yet";
        } else if (!failed->empty()) {
            why = "the store of the endpoint '" + *failed + "' cannot be read";
        }
    }
    const std::string body = why.empty() ? "{\"ready\":true}\n" : "{\"ready\":false," + errorJson(why).substr(1);
    co_return textAnswer(request, why.empty() ? http::status::ok : http::status::service_unavailable, json_type, body);
}

Answer Connection::metrics(const Request& request) const {
    std::vector<Gauge> gauges;
    try {
        if (shared_->options.gauges) gauges = shared_->options.gauges();
    } catch (...) {  // the other figures are answered
    }
    const Metrics::Now now{.runs = shared_->runs->size(),
                           .connections = shared_->connections,
                           .streams = shared_->streams.size(),
                           .is_draining = shared_->is_draining};
    return textAnswer(request, http::status::ok, "text/plain; version=0.0.4; charset=utf-8",
                      shared_->metrics.text(now, gauges));
}

void Connection::report(const Request& request, const Asked& asked, Clock::time_point began) const noexcept {
    const auto took = Clock::now() - began;
    shared_->metrics.countRequest(asked.operation.empty() ? "unread" : asked.operation, status_, took);
    if (!shared_->options.log) return;
    try {
        boost::json::object line{{"ms", millisecondsOf(took)}, {"status", status_}};
        if (!request.method_string().empty()) line["method"] = request.method_string();
        if (!asked.route.path.empty()) line["path"] = asked.route.path;
        for (auto& [name, value] : askedAs(asked)) line.emplace(name, std::move(value));
        tell(shared_->options.log, "request", std::move(line));
    } catch (const std::exception&) {  // there is no memory for the line
    }
}

}  // namespace stategraph::serve
