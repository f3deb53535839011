#include <utility>
#include <vector>

#include <stategraph/delete_thread.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/call.hpp"
#include "langgraph/live_runs.hpp"

// What clients ask about the server itself.
namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

serve::HandlerAnswer ok(const Call&) { return answerOf(json::object{{"ok", true}}); }

serve::HandlerAnswer info(const Call& call) {
    return answerOf(json::object{
        {"version", call.service().options.version},
        {"context", "js"},
        {"flags",
         {{"assistants", true}, {"crons", true}, {"langsmith", false}, {"langsmith_tracing_replicas", true}}}});
}

/// Deletes everything, for tests. A thread whose run has not ended when its turn comes is deleted with it later.
serve::HandlerAnswer truncate(const Call& call) {
    Service& service = call.service();
    if (!service.options.can_truncate) throw NotFound("Not Found");
    std::vector<ThreadRecord> threads;
    service.records.forEachThread([&](ThreadRecord&& thread) {
        threads.push_back(std::move(thread));
        return true;
    });
    for (const ThreadRecord& thread : threads) {
        for (const auto& run : service.runs->ofThread(thread.thread_id)) service.runs->cancel(*run);
        if (const ServedGraph* const graph = service.graph(thread.graphId()))
            deleteWholeThread(graph->saver(), thread.thread_id);
        service.thread_feeds->forget(thread.owner, thread.thread_id);
        service.runs->forgetThread(thread.thread_id);
    }
    service.records.removeAll({});
    return noContent();
}

}  // namespace

std::span<const Row> metaRows() {
    static constexpr Row rows[] = {
        {"GET", "/ok", &ok},
        {"GET", "/info", &info},
        {"POST", "/internal/truncate", &truncate},
    };
    return rows;
}

}  // namespace stategraph::langgraph
