#pragma once
#include <functional>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include "langgraph/identifiers.hpp"
#include "langgraph/records.hpp"
#include "tests/langgraph/served_app.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/until.hpp"

// Two servers of one store.
namespace langgraph_tests {

/// Opens what a server of its own has.
struct OpenServer {
    std::function<std::shared_ptr<sg::BaseCheckpointSaver>()> saver;
    std::function<std::shared_ptr<sg::BaseStore>()> store;
};

/// Each run is driven by one of two servers, and seen by both.
inline void checkTwoServers(const OpenServer& open) {
    const auto gate = std::make_shared<gates::Gate>();
    const Served one(makeApp(open.saver(), gate), {}, open.store());
    const std::string thread = one.newThread();
    const std::string runs = "/threads/" + thread + "/runs";
    const auto begin = [&](const Served& at, const std::string& name, const std::string& strategy) {
        return at.ask("POST", runs,
                      R"({"assistant_id": "app", "input": {"name": ")" + name + R"("}, "multitask_strategy": ")" +
                          strategy + R"("})");
    };
    const std::string run = Served::textOf(json::parse(begin(one, "x", "reject").body), "run_id");
    const std::string waits = Served::textOf(json::parse(begin(one, "w", "enqueue").body), "run_id");

    // The other one begins while the first drives the runs, and leaves them alone.
    const App app = makeApp(open.saver());
    const Served two(app, {}, open.store());
    CHECK(Served::textOf(two.get("/threads/" + thread), "status") == "busy");
    CHECK(Served::textOf(two.get(runs + "/" + run), "status") == "pending");
    for (const char* const strategy : {"reject", "enqueue", "rollback"}) CHECK(begin(two, "y", strategy).status == 409);
    CHECK(two.ask("POST", runs + "/" + run + "/cancel").status == 409);
    CHECK(two.ask("DELETE", runs + "/" + run).status == 409);
    CHECK(two.ask("DELETE", "/threads/" + thread).status == 409);
    client::Connection streaming(two.server.port());
    streaming.request("GET", runs + "/" + run + "/stream");
    (void)streaming.head();  // it follows the run
    client::Connection joining(two.server.port());
    joining.request("GET", runs + "/" + waits + "/join");
    gate->open();
    const std::string all = R"(["first x","work x","first w","work w"])";
    CHECK(json::serialize(json::parse(joining.read().body).at("log")) == all);
    std::string events;
    for (std::string piece = streaming.chunk(); !piece.empty(); piece = streaming.chunk()) events += piece;
    CHECK(events.find("event: values\ndata: {") != std::string::npos);
    CHECK(json::serialize(one.join(thread, waits).at("log")) == all);
    CHECK(Served::textOf(two.get(runs + "/" + run), "status") == "success");

    // Now the thread is free for any of them, as soon as the first has given it back.
    client::Response begun;
    patience::until([&] { return (begun = begin(two, "y", "reject")).status == 200; });
    const std::string next = Served::textOf(json::parse(begun.body), "run_id");
    CHECK(json::serialize(one.join(thread, next).at("log")) ==
          R"(["first x","work x","first w","work w","first y","work y"])");

    // What a third has left is taken by the first that is asked for it.
    const sg::langgraph::ApiRecords records(two.store);
    sg::langgraph::RunRecord left{.run_id = sg::langgraph::newId(), .thread_id = thread, .graph_id = "app"};
    left.kwargs = {{"input", {{"name", "z"}}}, {"stream_mode", json::array{"values"}}};
    records.store(sg::langgraph::ApiRecords::Batch().put(left));
    (void)app.submit(sg::Update<sg::JsonState>::of({{"name", "z"}}),
                     {.thread_id = thread, .metadata = sg::Metadata{{"run_id", sg::Value(left.run_id)}}});
    CHECK(json::serialize(two.join(thread, left.run_id).at("log")).ends_with(R"("work y","first z","work z"])"));
    CHECK(Served::textOf(one.get(runs + "/" + left.run_id), "status") == "success");
    CHECK(records.openRuns().empty());
}

}  // namespace langgraph_tests
