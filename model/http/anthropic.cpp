#include <stategraph/model/anthropic.hpp>

#include <stategraph/error.hpp>

#include "model/http/anthropic_answer.hpp"
#include "model/http/anthropic_request.hpp"
#include "model/http/http_model.hpp"

namespace stategraph::model {

std::shared_ptr<const Model> anthropic(const AnthropicOptions& options) {
    if (options.model.empty()) throw InvalidArgumentError("AnthropicOptions::model is empty; name the model");
    if (options.settings.seed) throw InvalidArgumentError("Anthropic's format has no seed; leave Settings::seed empty");
    std::vector<std::pair<std::string, std::string>> headers = {{"anthropic-version", options.version}};
    if (!options.api_key.empty()) headers.emplace_back("x-api-key", options.api_key);
    http::Provider provider;
    provider.client =
        http::makeClient(options.base_url, "/v1/messages", options.http, std::move(headers), options.api_key);
    provider.body = [options](const Request& request) { return http::anthropicBody(options, request); };
    provider.reader = [](const http::Speaker& speaker, http::Listener& listener) {
        return std::make_unique<http::AnthropicAnswer>(speaker, listener);
    };
    provider.called = "anthropic";
    provider.model = options.model;
    return http::httpModel(std::move(provider));
}

}  // namespace stategraph::model
