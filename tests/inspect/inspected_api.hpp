#pragma once
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <boost/json.hpp>

#include <stategraph/inspect/server.hpp>
#include <stategraph/memory_saver.hpp>

#include "inspect/http/api.hpp"
#include "tests/support/inspected.hpp"

// The inspector's HTTP interface without a socket, with a store that has three threads.
namespace inspected_api {

using namespace inspected;
namespace json = boost::json;

constexpr const char* key = "0123456789abcdef";

class Asked final : public sg::serve::RequestView {
public:
    Asked(std::string method, std::map<std::string, std::string> headers)
        : method_(std::move(method)), headers_(std::move(headers)) {}
    std::string_view method() const override { return method_; }
    std::string_view target() const override { return "/"; }
    std::string_view header(std::string_view name) const override {
        const auto found = headers_.find(std::string(name));
        return found == headers_.end() ? std::string_view() : std::string_view(found->second);
    }

private:
    std::string method_;
    std::map<std::string, std::string> headers_;
};

struct Answered {
    int status;
    std::string body;
    json::value value() const { return json::parse(body); }
};

struct Place {
    std::vector<std::string> segments;
    std::map<std::string, std::string> query = {};
};

/// A store with a thread that asks, one that is done, and one whose program failed.
class Store {
public:
    explicit Store(sg::inspect::ServerOptions options = {}) : api(saver, withKey(std::move(options))) {
        app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "asks"});
        app.invoke(Update{sg::set(&Order::topic, std::string("milk"))}, {.thread_id = "done/with slash"});
        app.invoke(sg::resume(std::string("yes")), {.thread_id = "done/with slash"});
        Graph failing;
        failing.addNode("bad", [](const Order&) -> Update { throw std::runtime_error("no stock"); })
            .addEdge(sg::START, "bad");
        CHECK_THROWS_AS(failing.compile({.checkpointer = saver})
                            .invoke(Update{sg::set(&Order::topic, std::string("x"))}, {.thread_id = "fails"}),
                        sg::NodeError);
    }

    static sg::inspect::ServerOptions withKey(sg::inspect::ServerOptions options) {
        options.key = key;
        return options;
    }
    Answered ask(const Asked& asked, const Place& place, std::string_view body = {}) {
        const auto answer = api.answer({asked, place.segments, place.query, body});
        return {answer.status, answer.body};
    }
    Answered get(const Place& place) { return ask({"GET", {{"X-Stategraph-Key", key}}}, place); }
    json::value ok(const Place& place) {
        const Answered answer = get(place);
        INFO(answer.body);
        REQUIRE(answer.status == 200);
        return answer.value();
    }
    Answered post(const Place& place, std::string_view body) {
        return ask({"POST", {{"X-Stategraph-Key", key}, {"Origin", "http://h"}, {"Host", "h"}}}, place, body);
    }
    json::value checkpoint(const std::string& thread) { return ok({{"threads", thread, "checkpoints", "newest"}}); }

    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    App app = graph().compile({.checkpointer = saver});
    sg::inspect::Api api;
};

inline std::string textAt(const json::value& value, std::string_view pointer) {
    return std::string(value.at_pointer(pointer).as_string());
}

}  // namespace inspected_api
