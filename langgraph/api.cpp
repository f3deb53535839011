#include <stategraph/langgraph/api.hpp>

#include <memory>
#include <utility>

#include "langgraph/call.hpp"
#include "langgraph/live_runs.hpp"
#include "langgraph/run_settle.hpp"
#include "langgraph/schedules.hpp"
#include "langgraph/service.hpp"
#include "langgraph/webhooks.hpp"

namespace stategraph::langgraph {

void serve(serve::Server& server, std::map<std::string, std::shared_ptr<Graph>> graphs, ApiOptions options) {
    (void)startService(server, std::move(graphs), std::move(options));
}

std::shared_ptr<Service> startService(serve::Server& server, std::map<std::string, std::shared_ptr<Graph>> graphs,
                                      ApiOptions options, std::shared_ptr<Clock> clock) {
    const bool can_truncate = options.can_truncate;
    const auto service = std::make_shared<Service>(server, std::move(graphs), std::move(options), std::move(clock));
    continueLeftRuns(*service);
    service->webhooks->sendLeft();
    for (const char* const first : {"ok", "info", "assistants", "threads", "runs", "store"}) {
        server.handle(
            first, [service, first](const serve::HandlerRequest& request) { return answer(*service, first, request); });
    }
    if (can_truncate) {
        server.handle("internal", [service](const serve::HandlerRequest& request) {
            return answer(*service, "internal", request);
        });
    }
    service->schedules->begin();
    return service;
}

}  // namespace stategraph::langgraph
