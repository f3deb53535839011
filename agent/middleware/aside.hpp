#pragma once
#include <memory>
#include <string>

#include <stategraph/agent/middleware.hpp>
#include <stategraph/model/model.hpp>
#include <stategraph/task.hpp>

namespace stategraph::agent::detail {

/// Asks a model for a text beside the conversation, as a user. Readers of the stream learn nothing of it; its tokens
/// count for the turn, and it ends when the run is stopped. `call` must live until the task has ended. Errors: those of
/// Model::ask.
Task<std::string> askAside(std::shared_ptr<const model::Model> model, std::string instructions, std::string said,
                           ModelCall& call);

}  // namespace stategraph::agent::detail
