#pragma once
#include <chrono>
#include <memory>

#include <stategraph/model/scripted_model.hpp>

namespace advisor {

/// Returns a model that says what a script says, in small pieces with a pause after each, as a real model does.
std::shared_ptr<const stategraph::model::Model> pacedModel(stategraph::model::ScriptedModel::Answer script,
                                                           std::chrono::milliseconds pause);

}  // namespace advisor
