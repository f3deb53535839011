#pragma once
#include <functional>
#include <memory>
#include <string>

#include <stategraph/model/model.hpp>

#include "model/http/answer_draft.hpp"
#include "model/http/answer_reader.hpp"
#include "model/http/http_client.hpp"

namespace stategraph::model::http {

/// A format of requests and answers, and the server that uses it.
struct Provider {
    std::shared_ptr<const HttpClient> client;
    /// Returns the body of a request. Called from several threads. Errors: ModelError.
    std::function<std::string(const Request&)> body;
    std::function<std::unique_ptr<AnswerReader>(const Speaker&, Listener&)> reader;
    /// The provider's name in traces, and the model's for the provider.
    std::string called = {};
    std::string model = {};
};

/// Returns a model that sends requests, reads answers, and repeats requests after errors that may be temporary.
std::shared_ptr<const Model> httpModel(Provider provider);

}  // namespace stategraph::model::http
