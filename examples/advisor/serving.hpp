#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include <stategraph/serve/server.hpp>

#include "advisor.hpp"

namespace advisor {

/// Serves the advisor at /NAME/THREAD/…, by default as the lines of the protocol "steps".
void addAdvisor(sg::serve::Server& server, const std::string& name, const AdvisorOptions& options);
/// Serves the tutor at /NAME/chat for the AI SDK.
void addTutor(sg::serve::Server& server, const std::string& name, const AdvisorOptions& options);
/// Serves the page at /. Errors: std::runtime_error if a file of the folder cannot be read.
void addPage(sg::serve::Server& server, const std::string& folder);

}  // namespace advisor
