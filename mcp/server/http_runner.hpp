#pragma once
#include "mcp/server/runner.hpp"
#include "serve/handler_runs.hpp"

namespace stategraph::mcp::detail {

/// Runs beside those of an HTTP server, within its limits, for the users that it names.
class HttpRunner final : public Runner {
public:
    explicit HttpRunner(serve::Server& http) : runs_(http) {}

    std::shared_ptr<RunControl> begin(CallRun run) override;
    void admit(const ServedTool& tool, const ThreadId& thread, const std::optional<serve::Identity>& identity,
               bool begins, RunConfig& config) const override;
    serve::ErrorText errorTexts(const ServedTool& tool, const ThreadId& thread) const override;

private:
    const serve::HandlerRuns runs_;
};

}  // namespace stategraph::mcp::detail
