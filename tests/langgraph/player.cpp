#include "tests/langgraph/player.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/langgraph/json_members.hpp"
#include "tests/langgraph/player_bindings.hpp"
#include "tests/langgraph/player_compare.hpp"
#include "tests/langgraph/player_http.hpp"
#include "tests/support/scripted_server.hpp"

namespace player {
namespace {

using json_members::get;
using json_members::text;
using Found = std::optional<Difference>;

/// Receives webhooks.
class Listener {
public:
    Listener()
        : server_([](ScriptedServer::Peer& peer) {
              while (!peer.request().empty()) peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
          }) {}
    std::string address() const { return "127.0.0.1:" + std::to_string(server_.port()); }
    json::array received() const {
        json::array bodies;
        for (const std::string& request : server_.requests()) {
            boost::system::error_code error;
            const std::string body = request.substr(request.find("\r\n\r\n") + 4);
            const json::value value = json::parse(body, error);
            bodies.push_back(error ? json::value(json::string(body)) : value);
        }
        return bodies;
    }

private:
    ScriptedServer server_;
};

/// The scenario as it is with this address of its listener.
json::value withListener(const json::object& scenario, const std::string& address) {
    constexpr std::string_view recorded = "127.0.0.1:2999";
    std::string all = json::serialize(scenario);
    for (std::size_t at = all.find(recorded); at != std::string::npos; at = all.find(recorded, at + 1))
        all.replace(at, recorded.size(), address);
    return json::parse(all);
}

Exchange::Stop stopAfter(const json::value& rule) {
    if (rule.is_null()) return {};
    return [rule](const Event& event) {
        if (event.name != text(get(rule, "event"))) return false;
        if (json::serialize(event.data).find(text(get(rule, "data"))) == std::string::npos) return false;
        const json::value& ns = get(get(event.data, "params"), "namespace");
        return get(rule, "root") != true || (ns.is_array() && ns.get_array().empty());
    };
}

/// One conversation.
class Conversation {
public:
    Conversation(json::value scenario, const PlayOptions& options) : scenario_(std::move(scenario)), options_(options) {
        if (const json::array* given = get(scenario_, "given").if_array()) {
            for (const json::value& placeholder : *given) bindings_.bind(text(placeholder), newId());
        }
    }

    /// Returns the first difference, as a message.
    std::string play(const Listener* listener) {
        empty();
        const json::array& steps = get(scenario_, "steps").as_array();
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (const Found found = perform(steps[i]))
                return message("step " + std::to_string(i + 1) + " (" + what(steps[i]) + ")", *found);
        }
        if (listener == nullptr) return {};
        const Found found = compareWebhooks(*listener);
        return found ? message("after the last step", *found) : std::string();
    }

private:
    void empty() const {
        const char* const all = R"({"runs":true,"threads":true,"assistants":true,"checkpointer":true,"store":true})";
        Exchange(options_.port, {.method = "POST", .path = "/internal/truncate", .body = all}).wait(options_.patience);
    }

    std::string message(const std::string& where, const Difference& found) const {
        return "scenario " + text(get(scenario_, "id")) + ", " + where + ": " + found.path + ": expected " +
               found.expected + ", got " + found.got;
    }
    // What a step does, as it is recorded.
    static std::string what(const json::value& step) {
        if (const json::value& until = get(step, "until"); !until.is_null())
            return "until " + text(get(until, "member")) + " of GET " + text(get(until, "path"));
        if (get(step, "finish").is_string()) return "finish " + text(get(step, "finish"));
        const json::value& request = get(step, "request");
        return text(get(request, "method")) + " " + text(get(request, "path"));
    }

    Found perform(const json::value& step) {
        if (const json::value& time = get(step, "sleep_ms"); time.is_number()) {
            // sleeps: as the recorded client did
            std::this_thread::sleep_for(std::chrono::milliseconds(time.to_number<std::int64_t>()) * options_.slower);
            return {};
        }
        if (const json::value& until = get(step, "until"); !until.is_null()) return waitUntil(until);
        if (get(step, "finish").is_string()) return finish(step);
        auto exchange = send(get(step, "request"), get(step, "stop_after"));
        if (get(step, "start").is_string()) {
            open_[text(get(step, "start"))] = std::move(exchange);
            return {};
        }
        return check(step, *exchange);
    }

    std::unique_ptr<Exchange> send(const json::value& request, const json::value& stop_after) const {
        Request filled{.method = text(get(request, "method")),
                       .path = bindings_.fillText(std::string_view(get(request, "path").as_string()))};
        if (const json::object* headers = get(request, "headers").if_object()) {
            for (const auto& header : *headers) {
                if (header.key() == "content-type") continue;
                filled.headers[header.key()] = bindings_.fillText(std::string_view(header.value().as_string()));
            }
        }
        if (request.as_object().contains("body")) filled.body = json::serialize(bindings_.fill(get(request, "body")));
        if (get(request, "rawBody").is_string()) filled.body = text(get(request, "rawBody"));
        return std::make_unique<Exchange>(options_.port, std::move(filled), stopAfter(stop_after));
    }

    Found check(const json::value& step, Exchange& exchange) {
        const Reply reply = exchange.wait(options_.patience);
        if (!reply.fault.empty()) return Difference{"the reply", "a whole one", describe(reply)};
        const json::value& of_step = get(step, "compare");
        return compareReply(get(step, "response"), reply, text(of_step.is_null() ? get(scenario_, "compare") : of_step),
                            bindings_);
    }
    // A reply that is not whole.
    static std::string describe(const Reply& reply) {
        std::string said = reply.fault;
        if (reply.status != 0) said += "; until then status " + std::to_string(reply.status);
        for (const Event& event : reply.events) said += ", event " + event.name;
        if (reply.events.empty() && !reply.body.empty()) said += ", " + shown(json::string(reply.body));
        return said;
    }

    Found finish(const json::value& step) {
        const auto opened = open_.extract(text(get(step, "finish")));
        if (opened.empty()) throw std::runtime_error("nothing was started that " + what(step) + " could end");
        if (get(step, "abort") == true) opened.mapped()->abort();
        if (get(step, "response").is_object()) return check(step, *opened.mapped());
        if (get(step, "abort") != true) opened.mapped()->wait(options_.patience);
        return {};
    }

    Found waitUntil(const json::value& until) {
        const json::array& values = get(until, "values").as_array();
        const json::value request{{"method", "GET"}, {"path", get(until, "path")}};
        const auto end = std::chrono::steady_clock::now() + options_.patience;
        for (;;) {
            const Reply reply = send(request, nullptr)->wait(options_.patience);
            if (!reply.fault.empty()) return Difference{"the reply", "a whole one", describe(reply)};
            boost::system::error_code error;
            const json::value body = json::parse(reply.body, error);
            const json::value& value = get(body, text(get(until, "member")));
            if (std::find(values.begin(), values.end(), value) != values.end()) return {};
            if (std::chrono::steady_clock::now() > end) {
                return Difference{"body." + text(get(until, "member")), "one of " + shown(values) + " in the end",
                                  std::to_string(reply.status) + ": " + shown(json::string(reply.body))};
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));  // sleeps: between two requests
        }
    }

    Found compareWebhooks(const Listener& listener) {
        const json::value& expected = get(get(scenario_, "result"), "webhook");
        const auto end = std::chrono::steady_clock::now() + options_.patience;
        while (listener.received().size() < expected.as_array().size() && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));  // sleeps: between two looks
        return compare(expected, listener.received(), bindings_, "webhook");
    }

    const json::value scenario_;
    const PlayOptions& options_;
    Bindings bindings_;
    std::map<std::string, std::unique_ptr<Exchange>> open_;
};

}  // namespace

std::string play(const boost::json::object& scenario, const PlayOptions& options) {
    if (!scenario.contains("listener")) return Conversation(scenario, options).play(nullptr);
    const Listener listener;
    return Conversation(withListener(scenario, listener.address()), options).play(&listener);
}

bool takesTime(const boost::json::object& scenario) {
    const json::array& steps = scenario.at("steps").as_array();
    return std::any_of(steps.begin(), steps.end(),
                       [](const json::value& step) { return step.as_object().contains("sleep_ms"); });
}

}  // namespace player
