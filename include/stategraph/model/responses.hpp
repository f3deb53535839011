#pragma once
#include <memory>
#include <string>

#include <stategraph/model/http_options.hpp>
#include <stategraph/model/model.hpp>

// Models on servers with OpenAI's Responses API.
namespace stategraph::model {

/// How a server with the Responses API is reached, and defaults for requests.
struct ResponsesOptions {
    /// The address, http or https; "/responses" is appended. It has no user, query or fragment.
    std::string base_url = "https://api.openai.com/v1";
    /// Sent as a bearer token. Empty: none is sent. It appears in no error.
    std::string api_key = {};
    /// The model's name for the provider.
    std::string model = {};
    /// These settings are used where a request does not set its own. The members of both `extra` are merged.
    Settings settings = {};
    /// Whether the model's encrypted thoughts are requested, kept with its answers, and sent back to the same model.
    /// Models that do not think refuse the request for them.
    bool keep_thoughts = true;
    /// Limits, retries and certificates of the connection.
    HttpOptions http = {};
};

/// A model behind `POST base_url/responses`, streamed. Connections, limits, threads and Settings::extra are as with
/// `openai`.
///
/// The server stores nothing (`store` is false): each request has the whole conversation. Thoughts, and calls of tools
/// that the provider executes, are sent back in the order in which the model wrote them, to the same model at the same
/// host only (ProviderPart); other models cannot read them. Summaries of thoughts are requested with Settings::extra:
/// `{"reasoning":{"summary":"auto"}}`. Request::output becomes `text.format` (json_schema). A seed and stop sequences
/// are errors, because there are none here.
///
/// Thread-safe. Errors and cost: as `openai`.
std::shared_ptr<const Model> openaiResponses(const ResponsesOptions& options);

}  // namespace stategraph::model
