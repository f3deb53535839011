#include <stategraph/model/openai.hpp>

#include <stategraph/error.hpp>

#include "model/http/http_model.hpp"
#include "model/http/openai_answer.hpp"
#include "model/http/openai_request.hpp"

namespace stategraph::model {

std::shared_ptr<const Model> openai(const OpenAiOptions& options) {
    if (options.model.empty()) throw InvalidArgumentError("OpenAiOptions::model is empty; name the model");
    if (options.max_tokens_member.empty())
        throw InvalidArgumentError("OpenAiOptions::max_tokens_member is empty; name the member");
    std::vector<std::pair<std::string, std::string>> headers;
    if (!options.api_key.empty()) headers.emplace_back("Authorization", "Bearer " + options.api_key);
    http::Provider provider;
    provider.client =
        http::makeClient(options.base_url, "/chat/completions", options.http, std::move(headers), options.api_key);
    provider.body = [options, host = provider.client->url.host](const Request& request) {
        return http::openAiBody(options, request, host);
    };
    provider.reader = [host = provider.client->url.host](const http::Speaker& speaker, http::Listener& listener) {
        return std::make_unique<http::OpenAiAnswer>(speaker, listener, host);
    };
    provider.called = "openai";
    provider.model = options.model;
    return http::httpModel(std::move(provider));
}

}  // namespace stategraph::model
