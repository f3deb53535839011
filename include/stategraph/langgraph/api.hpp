#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include <stategraph/langgraph/graph.hpp>
#include <stategraph/langgraph/webhook_sender.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/store.hpp>

// LangGraph's server as its clients know it: assistants, threads, runs, state and store over HTTP.
namespace stategraph::langgraph {

/// The options of the interface.
struct ApiOptions {
    /// Keeps what the log of a thread cannot know: its metadata and configuration, what was asked of each run, and the
    /// assistants that clients made; below the label "langgraph-api", which clients cannot see. It is also the store
    /// that clients read and write. It must outlive a process as the graphs' savers do. Several servers may share it
    /// where they share savers that hold threads (SQLite, PostgreSQL). Must be given.
    std::shared_ptr<BaseStore> store = {};
    /// The version that `GET /info` tells clients.
    std::string version = "1.5.1";
    /// How many runs may wait on one thread; more are refused with 409.
    std::size_t waiting_max = 100;
    /// How many bytes of a run's events are kept, for clients that join late or reconnect. Of a run with more, the
    /// oldest are forgotten.
    std::size_t event_bytes_max = 16U << 20U;
    /// How many bytes are kept of all runs together, what was asked of them included. Beyond it the oldest runs that
    /// have ended are forgotten, and then the oldest events of runs that report more.
    std::size_t event_bytes_all = 256U << 20U;
    /// Sends webhooks, which clients are then allowed to ask for; stategraph/langgraph/webhooks.hpp has one. Null: a
    /// run with a webhook is refused with 422.
    std::shared_ptr<WebhookSender> webhooks = {};
    /// How often a webhook is tried, at least once. The waits between the tries grow from 5 seconds to 15 minutes.
    int webhook_tries_max = 10;
    /// Whether `POST /internal/truncate` deletes all threads, runs, assistants and items: for tests alone.
    bool can_truncate = false;
};

/// Has the server answer LangGraph's clients, with each graph under its name: the paths /ok, /info, /assistants,
/// /threads, /runs and /store are taken. docs/langgraph_clients.md lists the routes.
///
/// The graphs need a saver (CompileOptions::checkpointer). Runs that a process has left, and that no other server of
/// the store drives, are continued before this returns: what the log says of them is settled, those in flight resume,
/// and those that had not begun begin. Due times of schedules that passed while no server ran are due now, and webhooks
/// that were left are sent. Ownership, hooks, limits and origins are the server's (ServerOptions). What it made lives
/// as long as the server. Errors: InvalidArgumentError without a store, for a name that is taken, and for a graph
/// without a saver; those of the store and the savers. Cost: a read of all runs that have not ended.
void serve(serve::Server& server, std::map<std::string, std::shared_ptr<Graph>> graphs, ApiOptions options);

}  // namespace stategraph::langgraph
