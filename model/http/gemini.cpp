#include <stategraph/model/gemini.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

#include "model/http/gemini_answer.hpp"
#include "model/http/gemini_request.hpp"
#include "model/http/http_model.hpp"

namespace stategraph::model {

namespace {

bool isOfName(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-' || c == '/' || c == '@';
}

std::string pathOf(const std::string& model) {
    if (model.empty()) throw InvalidArgumentError("GeminiOptions::model is empty; name the model");
    if (!std::ranges::all_of(model, isOfName) || model.starts_with('/') || model.find("..") != std::string::npos)
        throw InvalidArgumentError("GeminiOptions::model '" + model + "' is no name of a model: it is a part of the " +
                                   "address, of letters, digits and '.', '_', '-', '@', '/'");
    const std::string folder = model.find('/') == std::string::npos ? "/models/" : "/";
    return folder + model + ":streamGenerateContent?alt=sse";
}

}  // namespace

std::shared_ptr<const Model> gemini(const GeminiOptions& options) {
    const std::string path = pathOf(options.model);
    std::vector<std::pair<std::string, std::string>> headers;
    if (!options.api_key.empty()) headers.emplace_back("x-goog-api-key", options.api_key);
    http::Provider provider;
    provider.client = http::makeClient(options.base_url, path, options.http, std::move(headers), options.api_key);
    const std::string host = provider.client->url.host;
    provider.body = [options, host](const Request& request) { return http::geminiBody(options, request, host); };
    provider.reader = [host](const http::Speaker& speaker, http::Listener& listener) {
        return std::make_unique<http::GeminiAnswer>(speaker, listener, host);
    };
    provider.called = "gcp.gemini";
    provider.model = options.model.substr(options.model.rfind('/') + 1);
    return http::httpModel(std::move(provider));
}

}  // namespace stategraph::model
