#pragma once
#include <memory>
#include <optional>
#include <string>

#include <stategraph/workflow/run.hpp>

#include "tests/workflow_conformance/process.hpp"
#include "tests/workflow_conformance/storage.hpp"

namespace workflow_conformance {

/// The only run of a scenario, in one process after another.
class Session {
public:
    /// Errors: InvalidGraphError.
    Session(const json::object& workflow, Storage& storage, std::string run_id);

    /// Discards what is in memory and builds it again from what is stored.
    void renew();
    const flow::Flow& workflow() const { return *workflow_; }
    const std::shared_ptr<Process>& process() const noexcept { return process_; }
    const std::string& runId() const noexcept { return run_id_; }

private:
    void begin();

    Storage& storage_;
    const std::string run_id_;
    const std::shared_ptr<World> world_;
    std::shared_ptr<Process> process_;
    std::optional<flow::Flow> workflow_;
};

}  // namespace workflow_conformance
