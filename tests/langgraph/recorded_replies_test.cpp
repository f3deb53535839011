// SECONDS: 100
// Plays the conversations that were recorded with LangGraph's server against this one. What is answered differently is
// in recorded/differences.json, with the reason.
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/langgraph/api.hpp>
#include <stategraph/memory_store.hpp>

#include "tests/langgraph/player.hpp"
#include "tests/langgraph/player_differences.hpp"
#include "tests/langgraph/recorded_scenarios.hpp"
#include "tests/langgraph/server/served_graphs.hpp"
#include "tests/support/savers.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;

/// What is answered differently: "replies", by scenario, and "open", the scenarios that are not served yet, with a
/// reason.
json::object differences() {
    std::ifstream file(STATEGRAPH_TESTS_DIR "/langgraph/recorded/differences.json");
    return json::parse(std::string(std::istreambuf_iterator<char>(file), {})).as_object();
}

/// Plays a scenario, slower as long as its outcome may depend on the time.
std::string played(const json::object& scenario, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    std::string fault;
    for (int slower = 1; slower <= 64; slower *= 4) {
        const auto store = std::make_shared<sg::MemoryStore>();
        sg::serve::Server server({.show_errors = true,
                                  .request_timeout = std::chrono::minutes(5),
                                  .write_timeout = std::chrono::minutes(5)});
        sg::langgraph::serve(server,
                             described::served(recorded::graphs(), {.saver = saver, .store = store, .slower = slower}),
                             {.store = store, .can_truncate = true});
        fault = player::play(scenario, {.port = server.port(), .slower = slower});
        if (fault.empty() || !player::takesTime(scenario)) break;
    }
    return fault;
}

}  // namespace

TEST_CASE("recorded conversations have the same replies, except those that are listed with a reason") {
    const json::object listed = differences();
    const json::object& replies = listed.at("replies").as_object();
    const json::object& open = listed.at("open").as_object();
    savers::onEach([&](savers::Store& kind) {
        const std::shared_ptr<sg::BaseCheckpointSaver> saver = kind.open();
        for (const json::object& scenario : recorded::scenarios()) {
            const std::string id = json::value_to<std::string>(scenario.at("id"));
            CAPTURE(id);
            if (open.contains(id)) {
                CHECK(played(scenario, saver) != "");  // one that passes is to be taken from the list
            } else if (const json::value* const others = replies.if_contains(id)) {
                CHECK(played(player::withDifferences(scenario, others->as_array()), saver) == "");
            } else {
                CHECK(played(scenario, saver) == "");
            }
        }
    });
}
