#pragma once
#include <memory>

#include <stategraph/model/model.hpp>

namespace advisor {

/// Returns the model that the environment names. STATEGRAPH_MODEL_URL is a server with OpenAI's chat completions, up to
/// its "/v1"; STATEGRAPH_MODEL is the model's name there; STATEGRAPH_API_KEY may be missing. Returns null without a
/// URL. Errors: std::invalid_argument for a URL without a model, and in a program without stategraph::model_http;
/// InvalidArgumentError for an invalid URL.
std::shared_ptr<const stategraph::model::Model> realModel();

}  // namespace advisor
