#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/model/message.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/task.hpp>

// The interface of language models: requests, replies, and what they report meanwhile.
namespace stategraph::model {

/// A tool as a model sees it.
struct ToolDescription {
    std::string name;
    std::string description = {};
    /// The JSON Schema of its arguments, which must be that of an object.
    std::string parameters = R"({"type":"object","properties":{}})";
    /// If not empty, the provider executes the tool, and this JSON object is sent unchanged in place of the above. One
    /// with a "type" becomes an element of the request's `tools`; one without, such as {"web_search_options":{}},
    /// becomes members of the request's body. In Gemini's format each becomes an element of `tools`.
    std::string provider = {};
    /// Options of providers, by format: {"anthropic":{"cache_control":{"type":"ephemeral"}}} adds the member to the
    /// tool's declaration in that format. Null: none.
    Value extra = {};
};

/// Whether the model may, must or must not call a tool.
enum class ToolChoice : std::uint8_t {
    automatic,
    none,      // it may call no tool
    required,  // it must call one
};

/// Requests an answer that is JSON of this schema. Not all providers enforce it.
struct OutputFormat {
    std::string name = "answer";
    std::string schema;
};

/// Settings of a call of a model.
struct Settings {
    std::optional<std::int64_t> max_output_tokens = {};
    std::optional<double> temperature = {};
    std::optional<double> top_p = {};
    std::optional<std::int64_t> seed = {};
    std::vector<std::string> stop_sequences = {};
    /// A JSON object whose members are added to the request's body, only for this provider. They replace the library's.
    Value extra = {};
    /// As ToolDescription::extra, for the element that has Request::instructions. The Responses API has no such
    /// element.
    Value instructions_extra = {};
};

/// A request to a model. The instructions, messages, tools and names belong to the caller, who keeps them until the
/// task of Model::ask has ended.
struct Request {
    std::string_view instructions = {};
    std::span<const Message> messages = {};
    std::span<const ToolDescription> tools = {};
    ToolChoice tool_choice = ToolChoice::automatic;
    /// If not empty, the model must call this tool, whatever `tool_choice` says.
    std::string_view required_tool = {};
    std::optional<OutputFormat> output = {};
    Settings settings = {};
};

/// A piece of an answer that is being written. The texts are valid during the call of Asking::tell.
struct Delta {
    /// The kind of the piece.
    enum class Kind : std::uint8_t {
        text,
        reasoning,
        call,       // a call begins: `name` and `id` are set as far as they are known
        arguments,  // `text` is the next piece of the arguments of `call`
        provider,   // `part`: a call of a tool that the provider executes, its result, or a source
    };
    Kind kind = Kind::text;
    std::string_view text = {};
    /// The number of the call in the answer, from 0.
    std::size_t call = 0;
    std::string_view name = {};
    std::string_view id = {};
    /// Valid as long as the texts; null for other kinds.
    const ProviderPart* part = nullptr;
};

/// What accompanies a request: a listener, and a way to stop it.
struct Asking {
    /// Called for each piece, one call at a time, on the thread that reads the answer. May be empty.
    std::function<void(const Delta&)> tell = {};
    /// A stop request ends the call with CancelledError.
    std::stop_token stop = {};
    /// The runtime of the node that calls the model, or null. With it, what the model awaits ends when the run is
    /// stopped.
    Runtime* runtime = nullptr;
};

/// The answer of a model.
struct Reply {
    /// A message of the role assistant. Its calls have the provider's ids; ToolCall::id is empty.
    Message message;
    /// The provider's names for the answer and for the model that gave it.
    std::string response_id = {};
    std::string model = {};
};

/// The model, or the connection to it, failed.
class ModelError : public std::runtime_error {
public:
    /// What is known about the failure.
    struct Details {
        /// The HTTP status; 0 if there was no response.
        int status = 0;
        /// Whether the same request may succeed later.
        bool is_retryable = false;
        /// The wait before another attempt that the provider asked for.
        std::optional<std::chrono::milliseconds> retry_after = {};
        /// Whether the model sends failed requests again itself, and its options allow no more of that. Agents do not
        /// repeat such a call by default.
        bool is_exhausted = false;
    };
    ModelError(const std::string& text, Details details) : std::runtime_error(text), details_(details) {}
    int status() const noexcept { return details_.status; }
    bool isRetryable() const noexcept { return details_.is_retryable; }
    bool isExhausted() const noexcept { return details_.is_exhausted; }
    std::optional<std::chrono::milliseconds> retryAfter() const noexcept { return details_.retry_after; }

private:
    Details details_;
};

/// What a model is called before it is asked, for traces and for the counts of tokens.
struct ModelName {
    /// "openai", "anthropic" and so on, as OpenTelemetry's conventions have it; empty: unknown.
    std::string provider = {};
    /// The name that requests have.
    std::string model = {};
    /// The server's host and port; empty and 0 if there is none.
    std::string host = {};
    int port = 0;
};

/// A language model. Implementations must be safe from any thread: many runs may ask at the same time.
class Model {
public:
    virtual ~Model() = default;
    /// Answers the request. The caller keeps `asking`, and what the request refers to, until the task has ended or is
    /// destroyed. Errors: ModelError; CancelledError if it was stopped. An answer that breaks off must be an error,
    /// never a shorter answer.
    virtual Task<Reply> ask(Request request, const Asking& asking) const = 0;
    /// What the model is called. A model without a name has no price and is "" where tokens are counted, unless its
    /// replies name one.
    virtual ModelName name() const { return {}; }
};

/// Returns what a call of `model` has used, by the name in the reply, or else by the model's own. Empty if the reply
/// has no count.
UsageByModel usageOf(const Reply& reply, const Model& model);

}  // namespace stategraph::model
