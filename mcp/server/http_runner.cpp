#include "mcp/server/http_runner.hpp"

#include <string>
#include <utility>

#include <stategraph/error.hpp>

#include "serve/ownership.hpp"

namespace stategraph::mcp::detail {

std::shared_ptr<RunControl> HttpRunner::begin(CallRun run) {
    return runs_.begin({.endpoint = run.tool->endpoint(),
                        .name = run.tool->name(),
                        .thread = run.thread,
                        .identity = std::move(run.identity),
                        .work = std::move(run.work),
                        .config = std::move(run.config),
                        .then = std::move(run.then)});
}

void HttpRunner::admit(const ServedTool& tool, const ThreadId& thread, const std::optional<serve::Identity>& identity,
                       bool begins, RunConfig& config) const {
    if (!runs_.areOwned()) return;
    const serve::ThreadOwner found = tool.endpoint()->ownerOf(thread);
    if (!serve::isOwn(found, identity) && (found.is_begun || !begins))
        throw InvalidArgumentError("there is no thread '" + std::string(thread.view()) + "'");
    serve::runOnlyOn(found, config);
}

serve::ErrorText HttpRunner::errorTexts(const ServedTool& tool, const ThreadId& thread) const {
    return runs_.errorTexts(tool.name(), std::string(thread.view()));
}

}  // namespace stategraph::mcp::detail
