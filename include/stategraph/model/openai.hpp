#pragma once
#include <memory>
#include <string>

#include <stategraph/model/http_options.hpp>
#include <stategraph/model/model.hpp>

// Models on servers with OpenAI's chat completions: OpenAI, vLLM, llama.cpp, Ollama, OpenRouter, Mistral, DeepSeek and
// others.
namespace stategraph::model {

/// How a server with OpenAI's format is reached, and defaults for requests.
struct OpenAiOptions {
    /// The address, http or https; "/chat/completions" is appended. It has no user, query or fragment.
    std::string base_url = "https://api.openai.com/v1";
    /// Sent as a bearer token. Empty: none is sent. It appears in no error.
    std::string api_key = {};
    /// The model's name for the provider.
    std::string model = {};
    /// These settings are used where a request does not set its own. The members of both `extra` are merged.
    Settings settings = {};
    /// The member for Settings::max_output_tokens. Servers that do not know OpenAI's newer name require "max_tokens".
    std::string max_tokens_member = "max_completion_tokens";
    /// Whether what the model thought is sent back with its answers, as `reasoning_content`. Some servers require it
    /// after calls of tools (DeepSeek, Kimi); others refuse it.
    bool send_reasoning = false;
    /// Limits, retries and certificates of the connection.
    HttpOptions http = {};
};

/// A model behind `POST base_url/chat/completions`, streamed. A connection is kept when an answer has ended, and used
/// by later requests to the same server (docs/models.md). If a request is stopped, or its task is destroyed before the
/// end, it is closed, or with HTTP/2 the request's part of it. Deltas are reported where the awaiting coroutine lives.
///
/// Request::output becomes `response_format` (json_schema); it is strict if the schema is one that OpenAI takes as
/// strict: every object lists all its properties as required and allows no others. A member of Settings::extra that is
/// null takes the library's own member away. Annotations become sources (ProviderPart). Sources are not sent back, and
/// Reasoning only with `send_reasoning`, because these servers do not take them. What Gemini (`extra_content`) and
/// OpenRouter (`reasoning_details`) attach to an answer is kept with the message as metadata (ProviderPart), and is
/// sent back to the same host: without it Gemini refuses the results of its calls. In the messages, results of calls
/// must follow their calls (mendHistory).
///
/// Thread-safe. Errors: InvalidArgumentError for options that make no sense, such as a model without a name or a
/// `ca_file` that cannot be read. Cost: reads the trusted certificates once, a few milliseconds if the system's are
/// used.
std::shared_ptr<const Model> openai(const OpenAiOptions& options);

}  // namespace stategraph::model
