#pragma once
#include <memory>
#include <string>

#include <stategraph/model/http_options.hpp>
#include <stategraph/model/model.hpp>

// Models on servers with Anthropic's messages format.
namespace stategraph::model {

/// How a server with Anthropic's format is reached, and defaults for requests.
struct AnthropicOptions {
    /// The address, http or https; "/v1/messages" is appended. It has no user, query or fragment.
    std::string base_url = "https://api.anthropic.com";
    /// Sent as `x-api-key`. Empty: none is sent. It appears in no error.
    std::string api_key = {};
    /// The model's name for the provider.
    std::string model = {};
    /// These settings are used where a request does not set its own. The members of both `extra` are merged. The
    /// default limit of output tokens, which these servers require, is 4,096.
    Settings settings = {};
    /// The header `anthropic-version`.
    std::string version = "2023-06-01";
    /// Limits, retries and certificates of the connection.
    HttpOptions http = {};
};

/// A model behind `POST base_url/v1/messages`, streamed. Connections, limits, threads and Settings::extra are as with
/// `openai`.
///
/// Instructions and messages of the role system become the system prompt. Thoughts are sent back with their signatures;
/// those without one, which are another provider's, are left out. Request::output becomes `output_config.format`
/// (json_schema), which goes together with tools and with thinking; models older than Claude Sonnet 4.5 do not know it.
/// Every object of the schema must have `additionalProperties: false`. A seed is an error, because there is none here.
/// Some tools of the provider need the header `anthropic-beta` (HttpOptions::headers).
///
/// Thread-safe. Errors and cost: as `openai`.
std::shared_ptr<const Model> anthropic(const AnthropicOptions& options);

}  // namespace stategraph::model
