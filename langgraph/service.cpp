#include "langgraph/service.hpp"

#include <utility>

#include <stategraph/error.hpp>

#include "langgraph/identifiers.hpp"
#include "langgraph/live_runs.hpp"
#include "langgraph/schedules.hpp"
#include "langgraph/webhooks.hpp"
#include "src/graph/core.hpp"

namespace stategraph::langgraph {

namespace {

std::shared_ptr<BaseCheckpointSaver> saverOf(const std::string& name, const Graph& graph) {
    std::shared_ptr<BaseCheckpointSaver> saver = graph.core()->options().checkpointer.saver();
    if (!saver)
        throw InvalidArgumentError("the graph '" + name +
                                   "' has no saver, which keeps its threads; set "
                                   "CompileOptions::checkpointer");
    return saver;
}

}  // namespace

ServedGraph::ServedGraph(std::string name, std::shared_ptr<Graph> served)
    : id(std::move(name)), graph(std::move(served)), channels(*graph), checkpointer(saverOf(id, *graph)) {}

Service::Service(serve::Server& owner, std::map<std::string, std::shared_ptr<Graph>> given, ApiOptions api_options,
                 std::shared_ptr<Clock> time)
    : options(std::move(api_options)),
      server(owner),
      clock(time ? std::move(time) : systemClock(server.executor())),
      records(options.store),
      feed_bytes(std::make_shared<FeedBytes>(options.event_bytes_all)),
      thread_feeds(std::make_unique<ThreadFeeds>(options.event_bytes_max, feed_bytes)),
      began_at(now()) {
    if (!options.store) throw InvalidArgumentError("ApiOptions::store is needed: it keeps what clients ask for");
    for (auto& [name, graph] : given) {
        const auto added = graphs.emplace(name, std::make_shared<ServedGraph>(name, std::move(graph))).first;
        has_rivals |= added->second->saver().holdsThreads();
    }
    runs = std::make_unique<LiveRuns>(*this);
    schedules = std::make_unique<Schedules>(*this);
    webhooks = std::make_unique<Webhooks>(*this);
}

Service::~Service() = default;

const ServedGraph* Service::graph(const std::string& id) const noexcept {
    const auto found = graphs.find(id);
    return found == graphs.end() ? nullptr : found->second.get();
}

}  // namespace stategraph::langgraph
