#include "agent/middleware/aside.hpp"

#include <utility>
#include <vector>

#include <stategraph/control.hpp>

#include "agent/traces.hpp"

namespace stategraph::agent::detail {

Task<std::string> askAside(std::shared_ptr<const model::Model> model, std::string instructions, std::string said,
                           ModelCall& call) {
    const std::vector<model::Message> asked{model::user(std::move(said))};
    const model::Asking asking{.stop = stopToken(call.runtime), .runtime = &call.runtime};
    Task<model::Reply> answered =
        askModel(model, {.instructions = instructions, .messages = asked}, asking, {call.runtime, call.prices});
    const model::Reply reply = co_await std::move(answered);
    call.addUsage(model::usageOf(reply, *model));
    co_return reply.message.text();
}

}  // namespace stategraph::agent::detail
