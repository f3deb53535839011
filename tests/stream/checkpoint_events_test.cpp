#include <chrono>
#include <map>

#include <doctest/doctest.h>

#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/stream_hub.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"

// The events `checkpoints` and `debug` must report the same place, parent and metadata of a checkpoint as its history.
using namespace graphs;
using namespace std::chrono_literals;
using sg::StreamMode;

namespace {

namespace json = boost::json;

std::string idOf(const json::value& config) {
    return config.is_null() ? "" : json::value_to<std::string>(config.at("checkpoint_id"));
}

void checkAgainstHistory(const App& app, const std::vector<json::value>& checkpoints, const std::string& thread) {
    std::map<std::string, sg::StateSnapshot<State>> history;
    for (auto& snapshot : app.getStateHistory({.thread_id = thread}))
        history.emplace(snapshot.config.checkpoint_id.toString(), snapshot);
    CHECK(!checkpoints.empty());
    for (const json::value& data : checkpoints) {
        CAPTURE(json::serialize(data));
        CHECK(data.at("config").at("thread_id") == json::value(thread));
        const auto found = history.find(idOf(data.at("config")));
        REQUIRE(found != history.end());
        const sg::SnapshotData& snapshot = found->second;
        CHECK(idOf(data.at("parent_config")) ==
              (snapshot.parent_config ? snapshot.parent_config->checkpoint_id.toString() : ""));
        json::object metadata{{"step", snapshot.step}, {"source", sg::toString(snapshot.source)}};
        for (const auto& entry : snapshot.metadata) metadata.emplace(entry.key, sg::toJsonValue(entry.value));
        CHECK(data.at("metadata") == json::value(metadata));
    }
}

/// The payloads of the modes checkpoints and debug, which must be equal.
template <class Events>
std::vector<json::value> checkpointsOf(const Events& events) {
    std::vector<json::value> checkpoints;
    std::vector<json::value> debugged;
    for (const auto& event : events) {
        const json::value data = sg::toJsonValue(event.data);
        if (event.mode == StreamMode::checkpoints) checkpoints.push_back(data);
        if (event.mode == StreamMode::debug && data.at("type") == json::value("checkpoint"))
            debugged.push_back(data.at("payload"));
    }
    if (!debugged.empty()) CHECK(debugged == checkpoints);
    return checkpoints;
}

App asking() {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", [](const State&, sg::Runtime& runtime) -> Update {
        return {sg::add(&State::bar, sg::interrupt<std::string>(runtime, "name?"))};
    });
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

}  // namespace

TEST_CASE("events of checkpoints name the parent and the metadata of the run that stored it, in every driver") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const App app = asking();
        const sg::RunConfig first{.thread_id = "t", .metadata = {{"user", "ann"}, {"n", 1}}};
        const sg::RunConfig second{.thread_id = "t", .metadata = {{"user", "bob"}}};
        auto events = driver.run(app, bar("in"), first).events;
        const auto resumed = driver.run(app, sg::Command<>{.resume = "A"}, second).events;
        events.insert(events.end(), resumed.begin(), resumed.end());
        const auto checkpoints = checkpointsOf(events);
        if (!checkpoints.empty()) checkAgainstHistory(app, checkpoints, "t");
    }
}

TEST_CASE("the debug mode and subscribers report the same, of forks too") {
    const App app = asking();
    sg::StreamHub hub(app);
    auto subscription = hub.subscribe("t", {.modes = {StreamMode::checkpoints}});
    const sg::StreamOptions options{.modes = {StreamMode::checkpoints, StreamMode::debug}};
    std::vector<sg::StreamEvent> live;
    const auto take = [&](const sg::StreamEvent& event) { live.push_back(event); };
    app.stream(bar("in"), {.thread_id = "t", .metadata = {{"user", "ann"}}, .hub = &hub}, options, take);
    auto history = app.getStateHistory({.thread_id = "t"});
    std::vector<sg::CheckpointId> ids;
    for (const auto& snapshot : history) ids.push_back(snapshot.config.checkpoint_id);
    app.stream(sg::RESUME, {.thread_id = "t", .checkpoint_id = ids.at(1), .metadata = {{"why", "again"}}, .hub = &hub},
               options, take);
    checkAgainstHistory(app, checkpointsOf(live), "t");
    std::vector<sg::HubEvent> durable;
    while (auto event = subscription.next(0ms)) durable.push_back(std::move(*event));
    const auto told = checkpointsOf(durable);
    std::size_t stored = 0;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "t"}))
        stored += snapshot.config.checkpoint_id ? 1 : 0;
    CHECK(told.size() == stored);
    checkAgainstHistory(app, told, "t");
}

TEST_CASE("with durability exit the parent is a checkpoint that is stored") {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b")).addEdge(sg::START, "a").addEdge("a", "b");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto first = app.invoke(bar("in"), {.thread_id = "t", .durability = sg::Durability::exit});
    std::vector<sg::StreamEvent> live;
    app.stream(bar("in"), {.thread_id = "t", .durability = sg::Durability::exit}, {.modes = StreamMode::checkpoints},
               [&](const sg::StreamEvent& event) { live.push_back(event); });
    for (const json::value& data : checkpointsOf(live))
        CHECK(idOf(data.at("parent_config")) == first.config.checkpoint_id.toString());
}
