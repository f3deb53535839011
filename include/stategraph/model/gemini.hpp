#pragma once
#include <memory>
#include <string>

#include <stategraph/model/http_options.hpp>
#include <stategraph/model/model.hpp>

// Models on servers with Gemini's own format.
namespace stategraph::model {

/// How a server with Gemini's format is reached, and defaults for requests.
struct GeminiOptions {
    /// The address, http or https; "/models/MODEL:streamGenerateContent" is appended. It has no user, query or
    /// fragment.
    std::string base_url = "https://generativelanguage.googleapis.com/v1beta";
    /// Sent as `x-goog-api-key`. Empty: none is sent. It appears in no error.
    std::string api_key = {};
    /// The model's name, such as "gemini-3-pro". One with a slash, such as "tunedModels/mine", is a path of its own.
    std::string model = {};
    /// These settings are used where a request does not set its own. The members of both `extra` are merged.
    Settings settings = {};
    /// Limits, retries and certificates of the connection.
    HttpOptions http = {};
};

/// A model behind `POST base_url/models/MODEL:streamGenerateContent`, streamed. Connections, limits and threads are as
/// with `openai`.
///
/// Instructions and messages of the role system become the system instruction. The signatures of thoughts are kept with
/// the answer as metadata (ProviderPart) and sent back with the parts that had them; thoughts themselves are not sent
/// back. A call that another provider's model wrote gets the signature with which Gemini 3 skips its check. Files of
/// tools are parts of the function's response, or, for models before Gemini 3, follow it. Request::output becomes
/// `responseJsonSchema`. In Settings::extra, the members of `generationConfig` and `toolConfig` are added to the
/// library's, and other members to the body: `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`.
/// An answer that ends because the model wrote a malformed call is an error that may pass. A prompt that a filter
/// refuses gives an empty answer with FinishReason::content_filter.
///
/// Thread-safe. Errors and cost: as `openai`.
std::shared_ptr<const Model> gemini(const GeminiOptions& options);

}  // namespace stategraph::model
