// The order in which runs of a thread are stored, replaced and begun.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/serve/server.hpp>

#include "langgraph/identifiers.hpp"
#include "langgraph/live_run.hpp"
#include "langgraph/live_runs.hpp"
#include "langgraph/records.hpp"
#include "langgraph/run_request.hpp"
#include "langgraph/service.hpp"
#include "tests/langgraph/served_app.hpp"
#include "tests/support/until.hpp"

namespace sg = stategraph;
using namespace stategraph::langgraph;

TEST_CASE("a run that another one replaces while it is being stored is stored as interrupted") {
    sg::serve::Server server;
    std::map<std::string, std::shared_ptr<Graph>> graphs;
    graphs.emplace("app", graph(langgraph_tests::makeApp(std::make_shared<sg::MemorySaver>())));
    const auto service =
        std::make_shared<Service>(server, std::move(graphs), ApiOptions{.store = std::make_shared<sg::MemoryStore>()});
    const ThreadRecord thread{.thread_id = newId(), .metadata = {{"graph_id", "app"}}};
    service->records.store(ApiRecords::Batch().put(thread));
    const auto make = [&](const char* strategy) {
        RunRecord run{.run_id = newId(),
                      .thread_id = thread.thread_id,
                      .graph_id = "app",
                      .multitask_strategy = strategy,
                      .kwargs = {{"input", {{"name", "x"}}}}};
        const auto& served = service->graphs.at("app");
        auto work = served->graph->prepare(startOf(*served, run));
        return std::make_shared<LiveRun>(std::move(run), served, std::nullopt, std::move(work), *service);
    };
    const auto store = [&](const std::shared_ptr<LiveRun>& run) {
        service->records.store(ApiRecords::Batch().put(run->asked()));
    };
    const auto replaced = make("enqueue");
    const auto newer = make("interrupt");
    service->runs->add(replaced, [&] {
        service->runs->add(newer, [&] { store(newer); });
        store(replaced);
    });
    CHECK(service->records.run(thread.thread_id, replaced->asked().run_id)->status == "interrupted");
    patience::until([&] { return newer->hasEnded(); });
    CHECK(newer->status() == "success");
    CHECK(service->records.openRuns().empty());
}
