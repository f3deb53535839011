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

// What every language model looks like from here.
namespace stategraph::model {

/// A tool as a model is told of it.
struct ToolDescription {
    std::string name;
    std::string description = {};
    /// JSON Schema of its arguments, an object's.
    std::string parameters = R"({"type":"object","properties":{}})";
};

enum class ToolChoice : std::uint8_t {
    automatic,
    none,      // it may call no tool
    required,  // it must call one
};

/// The answer is to be JSON of this schema.
struct OutputFormat {
    std::string name = "answer";
    std::string schema;
};

struct Settings {
    std::optional<std::int64_t> max_output_tokens = {};
    std::optional<double> temperature = {};
    std::optional<double> top_p = {};
    std::optional<std::int64_t> seed = {};
    std::vector<std::string> stop_sequences = {};
    /// Members of the request's body for this provider alone, a JSON object; they win over ours.
    Value extra = {};
};

/// What a model is asked. The instructions, the messages and the tools are the caller's, who keeps them until the task
/// of Model::ask has ended.
struct Request {
    std::string_view instructions = {};
    std::span<const Message> messages = {};
    std::span<const ToolDescription> tools = {};
    ToolChoice tool_choice = ToolChoice::automatic;
    std::optional<OutputFormat> output = {};
    Settings settings = {};
};

/// A piece of an answer while it is made. The texts are valid during the call.
struct Delta {
    enum class Kind : std::uint8_t {
        text,
        reasoning,
        call,       // a call begins: `name` and `id`, as far as they are known
        arguments,  // `text` is the next piece of the arguments of `call`
    };
    Kind kind = Kind::text;
    std::string_view text = {};
    /// Which call of the answer, from 0.
    std::size_t call = 0;
    std::string_view name = {};
    std::string_view id = {};
};

/// Beside a request: who listens, and who may stop it.
struct Asking {
    /// Called for each piece, on the thread where the answer is read, one after the other. Empty: nobody listens.
    std::function<void(const Delta&)> tell = {};
    /// When it is requested the model gives up, with CancelledError.
    std::stop_token stop = {};
    /// Of the node that asks, if one does: what the model awaits then lives with the run.
    Runtime* runtime = nullptr;
};

struct Reply {
    /// Of the role assistant. Its calls have the provider's ids, and no ids of ours.
    Message message;
    /// The provider's names for the answer and for the model that gave it.
    std::string response_id = {};
    std::string model = {};
};

/// The model, or the way to it, failed.
class ModelError : public std::runtime_error {
public:
    struct Details {
        /// Of HTTP; 0: there was no answer.
        int status = 0;
        /// Whether the same request may succeed later.
        bool is_retryable = false;
        /// What the provider asked for.
        std::optional<std::chrono::milliseconds> retry_after = {};
    };
    ModelError(const std::string& text, Details details) : std::runtime_error(text), details_(details) {}
    int status() const noexcept { return details_.status; }
    bool isRetryable() const noexcept { return details_.is_retryable; }
    std::optional<std::chrono::milliseconds> retryAfter() const noexcept { return details_.retry_after; }

private:
    Details details_;
};

/// A language model. Safe from several threads: many runs may ask at the same time.
class Model {
public:
    virtual ~Model() = default;
    /// Answers the request. `asking` and what the request refers to stay until the task has ended or is destroyed.
    /// Errors: ModelError; CancelledError if it was stopped. An answer that broke off is an error, never a shorter
    /// answer.
    virtual Task<Reply> ask(Request request, const Asking& asking) const = 0;
};

}  // namespace stategraph::model
