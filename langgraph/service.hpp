#pragma once
#include <map>
#include <memory>
#include <string>

#include <stategraph/langgraph/api.hpp>
#include <stategraph/saver.hpp>

#include "langgraph/clock.hpp"
#include "langgraph/message_channels.hpp"
#include "langgraph/records.hpp"
#include "langgraph/run_feed.hpp"
#include "langgraph/thread_feed.hpp"
#include "serve/handler_runs.hpp"

namespace stategraph::langgraph {

class LiveRuns;
class Schedules;
class Webhooks;

/// A graph under its name.
struct ServedGraph {
    ServedGraph(std::string name, std::shared_ptr<Graph> served);
    BaseCheckpointSaver& saver() const noexcept { return *checkpointer; }

    const std::string id;
    const std::shared_ptr<Graph> graph;
    const MessageChannels channels;
    /// Errors of the constructor: InvalidArgumentError if the graph has none.
    const std::shared_ptr<BaseCheckpointSaver> checkpointer;
};

/// What all requests share.
struct Service : std::enable_shared_from_this<Service> {
    /// `time`: null for that of the system.
    Service(serve::Server& server, std::map<std::string, std::shared_ptr<Graph>> given, ApiOptions api_options,
            std::shared_ptr<Clock> time = {});
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// Null if there is none.
    const ServedGraph* graph(const std::string& id) const noexcept;
    serve::ErrorText errorTexts(const std::string& graph_id, const std::string& thread_id) const {
        return server.errorTexts(graph_id, thread_id);
    }

    const ApiOptions options;
    const serve::HandlerRuns server;
    const std::shared_ptr<Clock> clock;
    const ApiRecords records;
    const std::shared_ptr<FeedBytes> feed_bytes;
    const std::unique_ptr<ThreadFeeds> thread_feeds;
    std::map<std::string, std::shared_ptr<const ServedGraph>> graphs;
    std::string began_at;     // the time, as ISO 8601
    bool has_rivals = false;  // other servers may use the same threads
    std::unique_ptr<LiveRuns> runs;
    std::unique_ptr<Schedules> schedules;
    std::unique_ptr<Webhooks> webhooks;
};

/// Makes what answers the requests of a server, as `serve` does.
std::shared_ptr<Service> startService(serve::Server& server, std::map<std::string, std::shared_ptr<Graph>> graphs,
                                      ApiOptions options, std::shared_ptr<Clock> clock = {});

}  // namespace stategraph::langgraph
