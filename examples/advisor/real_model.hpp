#pragma once
#include <memory>

#include <stategraph/model/model.hpp>

namespace advisor {

/// The model that the environment names: STATEGRAPH_MODEL_URL, a server that speaks OpenAI's chat completions, up to
/// its "/v1"; STATEGRAPH_MODEL, the model's name there; STATEGRAPH_API_KEY, which may be missing. Null without a URL.
/// Errors: std::invalid_argument for a URL without a model, and in a program without stategraph::model_http;
/// InvalidArgumentError for a URL that is none.
std::shared_ptr<const stategraph::model::Model> realModel();

}  // namespace advisor
