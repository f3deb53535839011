// Plays the conversations that were recorded with LangGraph's server against this one. Those that end in another way are
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
#include "tests/langgraph/recorded_scenarios.hpp"
#include "tests/langgraph/server/served_graphs.hpp"
#include "tests/support/savers.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;

json::object differences() {
    std::ifstream file(STATEGRAPH_TESTS_DIR "/langgraph/recorded/differences.json");
    return json::parse(std::string(std::istreambuf_iterator<char>(file), {})).as_object();
}

/// Plays a scenario, slower as long as its outcome may depend on the time.
std::string played(const json::object& scenario, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    std::string fault;
    for (int slower = 1; slower <= 64; slower *= 4) {
        const auto store = std::make_shared<sg::MemoryStore>();
        sg::serve::Server server({.show_errors = true});
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
    const json::object different = differences();
    savers::onEach([&](savers::Store& kind) {
        const std::shared_ptr<sg::BaseCheckpointSaver> saver = kind.open();
        for (const json::object& scenario : recorded::scenarios()) {
            const std::string id = json::value_to<std::string>(scenario.at("id"));
            CAPTURE(id);
            if (different.contains(id)) {
                // A listed one that passes is to be taken from the list. Those that take time may pass by chance.
                if (!player::takesTime(scenario)) CHECK(played(scenario, saver) != "");
            } else {
                CHECK(played(scenario, saver) == "");
            }
        }
    });
}
