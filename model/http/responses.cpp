#include <stategraph/model/responses.hpp>

#include <stategraph/error.hpp>

#include "model/http/http_model.hpp"
#include "model/http/responses_answer.hpp"
#include "model/http/responses_request.hpp"

namespace stategraph::model {

std::shared_ptr<const Model> openaiResponses(const ResponsesOptions& options) {
    if (options.model.empty()) throw InvalidArgumentError("ResponsesOptions::model is empty; name the model");
    if (options.settings.seed || !options.settings.stop_sequences.empty()) {
        throw InvalidArgumentError(http::has_no_seed);
    }
    std::vector<std::pair<std::string, std::string>> headers;
    if (!options.api_key.empty()) headers.emplace_back("Authorization", "Bearer " + options.api_key);
    http::Provider provider;
    provider.client =
        http::makeClient(options.base_url, "/responses", options.http, std::move(headers), options.api_key);
    const http::ItemOrigin origin{provider.client->url.host, options.model};
    provider.body = [options, origin](const Request& request) { return http::responsesBody(options, request, origin); };
    provider.reader = [origin](const http::Speaker& speaker, http::Listener& listener) {
        return std::make_unique<http::ResponsesAnswer>(speaker, listener, origin);
    };
    provider.called = "openai";
    provider.model = options.model;
    return http::httpModel(std::move(provider));
}

}  // namespace stategraph::model
