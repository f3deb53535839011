#pragma once
#include <chrono>
#include <memory>

#include <stategraph/agent/agent.hpp>
#include <stategraph/compiled_graph.hpp>

#include "types.hpp"

namespace advisor {

struct AdvisorOptions {
    /// How long the scripted model waits after each piece of its answer.
    std::chrono::milliseconds pause = std::chrono::milliseconds(0);
    std::shared_ptr<sg::BaseCheckpointSaver> saver = {};
    /// Used by every agent instead of the scripted models. Null means the scripts.
    std::shared_ptr<const sg::model::Model> model = {};
};

/// The advisor: three agents in a row, each with a typed answer.
///
///     START ──► profile ──► research ──► synthesis ──► END
///                           webSearch    bookCourse, which the learner must approve
sg::CompiledGraph<State> makeAdvisor(const AdvisorOptions& options);

/// An agent for conversations, with the same tools.
sg::agent::Agent makeTutor(const AdvisorOptions& options);

}  // namespace advisor
