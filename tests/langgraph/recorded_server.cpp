#include "tests/langgraph/recorded_server.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "tests/langgraph/json_members.hpp"
#include "tests/langgraph/player_compare.hpp"

namespace player {
namespace {

using json_members::get;
using json_members::text;

constexpr auto patience = std::chrono::minutes(5);
constexpr std::string_view recorded_listener = "http://127.0.0.1:2999";

std::string replaced(std::string in, std::string_view from, std::string_view to) {
    for (std::size_t at = in.find(from); at != std::string::npos; at = in.find(from, at + to.size()))
        in.replace(at, from.size(), to);
    return in;
}

/// A recorded text as a server says it.
std::string spoken(std::string_view recorded, const Bindings& bindings) {
    return replaced(bindings.fillText(recorded), "<time>", "2026-11-29T20:45:00.123Z");
}
json::value spoken(const json::value& recorded, const Bindings& bindings) {
    if (recorded == "<ms>") return 1'764'449'100'123;
    return json::parse(spoken(replaced(json::serialize(recorded), "\"<ms>\"", "1764449100123"), bindings));
}

/// The bytes of a whole reply.
std::string bytesOf(const Reply& reply) {
    std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " Recorded\r\n";
    for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
    if (reply.status == 204) return head + "\r\n";
    return head + "content-length: " + std::to_string(reply.body.size()) + "\r\n\r\n" + reply.body;
}

/// The bytes of a stream, in chunks that end anywhere.
std::string chunksOf(const Reply& reply) {
    std::string body;
    for (const Event& event : reply.events) {
        body += ": heartbeat\n\nevent: " + event.name + "\r\n";
        if (event.id) body += "id: " + *event.id + "\n";
        body += "data: " + json::serialize(event.data) + "\n\n";
    }
    std::string bytes = "HTTP/1.1 " + std::to_string(reply.status) + " Recorded\r\ntransfer-encoding: chunked\r\n";
    for (const auto& [name, value] : reply.headers) bytes += name + ": " + value + "\r\n";
    bytes += "\r\n";
    constexpr std::size_t size = 9;  // a digit
    std::size_t at = 0;
    for (; at + size < body.size(); at += size) bytes += "9;odd\r\n" + body.substr(at, size) + "\r\n";
    return bytes + std::to_string(body.size() - at) + "\r\n" + body.substr(at) + "\r\n";
}

bool isSilent(const json::value& step) {
    return step.as_object().contains("sleep_ms") || step.as_object().contains("finish");
}

}  // namespace

Bindings freshBindings(const json::value& scenario) {
    const json::value& given = get(scenario, "given");
    Bindings bindings;
    for (const std::string& placeholder : placeholdersOf(json::serialize(scenario))) {
        const bool is_given = given.is_array() && std::count(given.get_array().begin(), given.get_array().end(),
                                                             json::value(placeholder)) > 0;
        if (!is_given && bindings.idOf(placeholder).empty()) bindings.bind(placeholder, newId());
    }
    return bindings;
}

Reply replyOf(const json::value& response, const Bindings& bindings) {
    Reply reply{.status = get(response, "status").to_number<int>()};
    if (const json::object* headers = get(response, "headers").if_object()) {
        for (const auto& header : *headers)
            reply.headers[header.key()] = spoken(std::string_view(header.value().as_string()), bindings);
    }
    if (const json::array* events = get(response, "sse").if_array()) {
        for (const json::value& each : *events) {
            Event event{.name = spoken(std::string_view(get(each, "event").as_string()), bindings),
                        .data = spoken(get(each, "data"), bindings)};
            if (get(each, "id") == true) event.id = std::to_string(reply.events.size());
            reply.events.push_back(std::move(event));
        }
    }
    if (get(response, "text").is_string())
        reply.body = spoken(std::string_view(get(response, "text").get_string()), bindings);
    if (response.as_object().contains("json"))
        reply.body = "\n" + json::serialize(spoken(get(response, "json"), bindings));
    return reply;
}

RecordedServer::RecordedServer(const json::object& scenario)
    : scenario_(scenario),
      bindings_(freshBindings(scenario_)),
      server_([this](ScriptedServer::Peer& peer) { serve(peer); }) {}

std::string RecordedServer::complaints() const {
    const std::lock_guard lock(mutex_);
    const json::array& steps = get(scenario_, "steps").as_array();
    for (std::size_t i = next_; i < steps.size() && complaints_.empty(); ++i)
        if (!isSilent(steps[i])) return "step " + std::to_string(i + 1) + " was not asked for\n";
    return complaints_;
}

RecordedServer::Asked RecordedServer::parse(const std::string& request) {
    const std::size_t method = request.find(' ');
    const std::size_t path = request.find(' ', method + 1);
    const std::size_t head = request.find("\r\n\r\n") + 4;
    Asked asked{request.substr(0, method), request.substr(method + 1, path - method - 1), request.substr(0, head), {}};
    const std::string body = request.substr(head);
    boost::system::error_code error;
    if (!body.empty()) asked.body = json::parse(body, error);
    if (error) asked.body = json::string(body);
    return asked;
}

void RecordedServer::serve(ScriptedServer::Peer& peer) {
    const std::string request = peer.request();
    if (request.empty()) return;
    const Asked asked = parse(request);
    if (asked.path == "/internal/truncate") {
        peer.send("HTTP/1.1 204 Empty\r\n\r\n");
        return;
    }
    std::unique_lock lock(mutex_);
    const json::array& steps = get(scenario_, "steps").as_array();
    // A request that only begins is sent at the same time as the next one.
    const auto is_next = [&] {
        while (next_ < steps.size() && isSilent(steps[next_])) ++next_;
        if (next_ == steps.size() || !get(steps[next_], "start").is_string()) return true;
        Bindings tried = bindings_;
        return tried.match(text(get(get(steps[next_], "request"), "path")), asked.path);
    };
    changed_.wait_for(lock, patience, is_next);
    if (next_ == steps.size()) {
        complain(asked.method + " " + asked.path + " comes after the last step");
        peer.send(bytesOf({.status = 500}));
        return;
    }
    const std::size_t step = next_;
    if (const json::value& until = get(steps[step], "until"); !until.is_null()) {
        peer.send(answerUntil(until, asked));
        return;
    }
    const std::string bytes = answer(step, asked);
    lock.unlock();
    changed_.notify_all();
    if (get(steps[step], "start").is_string()) hold(peer, step);
    peer.send(bytes);
    if (get(steps[step], "stop_after").is_object() && !peer.waitForEnd(patience)) {
        lock.lock();
        complain("step " + std::to_string(step + 1) + ": the client did not hang up");
    }
    if (const std::string url = text(get(asked.body, "webhook")); !url.empty()) sendWebhooks(url);
}

// The condition does not hold the first time.
std::string RecordedServer::answerUntil(const json::value& until, const Asked& asked) {
    check({{"method", "GET"}, {"path", get(until, "path")}}, asked);
    const json::value value = is_until_asked_ ? get(until, "values").as_array().back() : json::value("not yet");
    is_until_asked_ = !is_until_asked_;
    if (!is_until_asked_) ++next_;
    return bytesOf({.status = 200, .body = json::serialize(json::value{{text(get(until, "member")), value}})});
}

std::string RecordedServer::answer(std::size_t step, const Asked& asked) {
    const json::array& steps = get(scenario_, "steps").as_array();
    check(get(steps[step], "request"), asked);
    ++next_;
    json::value response = get(steps[step], "response");
    if (get(steps[step], "start").is_string()) {
        for (const json::value& other : steps)
            if (get(other, "finish") == get(steps[step], "start")) response = get(other, "response");
    }
    if (!response.is_object()) return {};  // of a request that is aborted
    const Reply reply = replyOf(response, bindings_);
    if (!reply.isStream()) return bytesOf(reply);
    return chunksOf(reply) + "0\r\n\r\n";  // also where a client hangs up before
}

void RecordedServer::check(const json::value& request, const Asked& asked) {
    json::value body = get(request, "body");
    if (const std::string raw = text(get(request, "rawBody")); !raw.empty()) body = json::string(raw);
    const std::string url = text(get(asked.body, "webhook"));
    const json::value given{
        {"method", asked.method},
        {"path", asked.path},
        {"body", url.empty() ? asked.body
                             : json::parse(replaced(json::serialize(asked.body), url.substr(0, url.rfind('/')),
                                                    recorded_listener))}};
    const json::value expected{{"method", get(request, "method")}, {"path", get(request, "path")}, {"body", body}};
    if (const auto found = compare(expected, given, bindings_, "request"))
        complain(found->path + ": expected " + found->expected + ", got " + found->got);
    if (const json::object* headers = get(request, "headers").if_object()) {
        for (const auto& header : *headers) {
            const std::string line = "\r\n" + std::string(header.key()) + ": " + text(header.value()) + "\r\n";
            if (asked.head.find(line) == std::string::npos)
                complain("request to " + asked.path + " without the header " + std::string(header.key()));
        }
    }
}

// Waits until all requests up to the step's `finish` have come, or until the client hangs up.
void RecordedServer::hold(ScriptedServer::Peer& peer, std::size_t step) {
    const json::array& steps = get(scenario_, "steps").as_array();
    std::size_t end = step;
    while (get(steps[end], "finish") != get(steps[step], "start")) ++end;
    if (get(steps[end], "abort") == true) {
        peer.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: metadata\ndata: {}\n\n");
        const bool is_ended = peer.waitForEnd(patience);
        const std::lock_guard lock(mutex_);
        if (!is_ended) complain("step " + std::to_string(end + 1) + ": the client did not hang up");
        return;
    }
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [&] { return next_ >= end; }))
        complain("step " + std::to_string(end + 1) + " waits for requests that did not come");
}

void RecordedServer::sendWebhooks(const std::string& url) const {
    std::unique_lock lock(mutex_);
    const Bindings bindings = bindings_;
    lock.unlock();
    const std::string host = "http://127.0.0.1:";
    const auto port = static_cast<unsigned short>(std::stoi(url.substr(host.size())));
    const std::string path = url.substr(url.find('/', host.size()));
    for (const json::value& hook : get(get(scenario_, "result"), "webhook").as_array()) {
        const std::string body = replaced(json::serialize(spoken(hook, bindings)), recorded_listener,
                                          url.substr(0, url.size() - path.size()));
        Exchange(port, {.method = "POST", .path = path, .body = body}).wait(patience);
    }
}

}  // namespace player
