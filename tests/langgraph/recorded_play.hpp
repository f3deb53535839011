#pragma once
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/error.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/langgraph/webhook_sender.hpp>

#include "tests/langgraph/player.hpp"
#include "tests/langgraph/player_differences.hpp"
#include "tests/langgraph/player_http.hpp"
#include "tests/langgraph/recorded_scenarios.hpp"
#include "tests/langgraph/server/served_graphs.hpp"

// Plays the conversations that were recorded with LangGraph's server against this one.
namespace langgraph_tests {

/// Makes webhooks' calls to this machine as they are; stategraph/langgraph/webhooks.hpp has the checks and signatures.
class PlainSender final : public stategraph::langgraph::WebhookSender {
public:
    void check(const std::string& url) const override {
        if (!url.starts_with(local)) throw stategraph::InvalidArgumentError("only this machine is called");
    }
    stategraph::Task<int> send(stategraph::langgraph::Webhook call) override {
        const std::string address = call.url.substr(local.size());
        const std::size_t slash = address.find('/');
        player::Exchange exchange(static_cast<unsigned short>(std::stoi(address)),
                                  {.method = "POST", .path = address.substr(slash), .body = call.body});
        co_return exchange.wait(std::chrono::minutes(5)).status;
    }

private:
    static constexpr std::string_view local = "http://127.0.0.1:";
};

/// Plays a scenario, slower as long as its outcome may depend on the time.
inline std::string played(const boost::json::object& scenario, const described::Surroundings& surroundings) {
    std::string fault;
    for (int slower = 1; slower <= 64; slower *= 4) {
        stategraph::serve::Server server({.show_errors = true,
                                          .request_timeout = std::chrono::minutes(5),
                                          .write_timeout = std::chrono::minutes(5)});
        described::Surroundings slowed = surroundings;
        slowed.slower = slower;
        stategraph::langgraph::serve(
            server, described::served(recorded::graphs(), slowed),
            {.store = surroundings.store, .webhooks = std::make_shared<PlainSender>(), .can_truncate = true});
        fault = player::play(scenario, {.port = server.port(), .slower = slower});
        if (fault.empty() || !player::takesTime(scenario)) break;
    }
    return fault;
}

/// Plays all scenarios. What is answered differently is in recorded/differences.json: "replies", by scenario, and
/// "open", the scenarios that are not served yet, with a reason.
inline void checkRecorded(const described::Surroundings& surroundings) {
    std::ifstream file(STATEGRAPH_TESTS_DIR "/langgraph/recorded/differences.json");
    const boost::json::object listed =
        boost::json::parse(std::string(std::istreambuf_iterator<char>(file), {})).as_object();
    const boost::json::object& replies = listed.at("replies").as_object();
    const boost::json::object& open = listed.at("open").as_object();
    for (const boost::json::object& scenario : recorded::scenarios()) {
        const std::string id = boost::json::value_to<std::string>(scenario.at("id"));
        CAPTURE(id);
        if (open.contains(id)) {
            CHECK(played(scenario, surroundings) != "");  // one that passes is to be taken from the list
        } else if (const boost::json::value* const others = replies.if_contains(id)) {
            CHECK(played(player::withDifferences(scenario, others->as_array()), surroundings) == "");
        } else {
            CHECK(played(scenario, surroundings) == "");
        }
    }
}

}  // namespace langgraph_tests
