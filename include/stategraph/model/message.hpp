#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <stategraph/codec.hpp>
#include <stategraph/messages.hpp>
#include <stategraph/value.hpp>

// What is said between people, models and tools. These are the records of the log; each provider's wire format is made
// from them.
namespace stategraph::model {

enum class Role : std::uint8_t {
    system,
    user,
    assistant,
    tool,    // the result of a tool's call
    remove,  // written to a channel, it takes the message with its id away
};
constexpr auto enumNames(Role) {
    return stategraph::enumNames<Role>({{"system", Role::system},
                                        {"user", Role::user},
                                        {"assistant", Role::assistant},
                                        {"tool", Role::tool},
                                        {"remove", Role::remove}});
}

/// Why a model stopped.
enum class FinishReason : std::uint8_t {
    stop,            // it had said what it had to say
    tool_calls,      // it waits for results
    length,          // its answer was cut off at a limit
    content_filter,  // or by a filter
    other,
};
constexpr auto enumNames(FinishReason) {
    return stategraph::enumNames<FinishReason>({{"stop", FinishReason::stop},
                                                {"tool-calls", FinishReason::tool_calls},
                                                {"length", FinishReason::length},
                                                {"content-filter", FinishReason::content_filter},
                                                {"other", FinishReason::other}});
}
const char* toString(FinishReason reason) noexcept;

struct Text {
    static constexpr std::string_view tag = "text";
    std::string text = {};
    static constexpr auto fields() { return stategraph::fields(field("text", &Text::text)); }
    friend bool operator==(const Text&, const Text&) = default;
};
/// What a model thought before it answered. Providers that want it back want its signature too.
struct Reasoning {
    static constexpr std::string_view tag = "reasoning";
    std::string text = {};
    std::string signature = {};
    static constexpr auto fields() {
        return stategraph::fields(field("text", &Reasoning::text),
                                  field("signature", &Reasoning::signature, defaulted));
    }
    friend bool operator==(const Reasoning&, const Reasoning&) = default;
};
/// A picture or another file, by its address or as base64.
struct File {
    static constexpr std::string_view tag = "file";
    std::string media_type = {};
    std::string url = {};
    std::string data = {};
    static constexpr auto fields() {
        return stategraph::fields(field("media_type", &File::media_type), field("url", &File::url, defaulted),
                                  field("data", &File::data, defaulted));
    }
    friend bool operator==(const File&, const File&) = default;
};
using Part = std::variant<Text, Reasoning, File>;

/// A model's wish that a tool be called.
struct ToolCall {
    /// Unique in its conversation, and ours: by it a call is approved, and its result found.
    std::string id = {};
    /// The provider's name for it, for the wire. It may be empty, or be used again in a later turn.
    std::string provider_id = {};
    std::string name = {};
    /// JSON text as the model wrote it. Empty means `{}`.
    std::string arguments = {};
    static constexpr auto fields() {
        return stategraph::fields(field("id", &ToolCall::id), field("provider_id", &ToolCall::provider_id, defaulted),
                                  field("name", &ToolCall::name), field("arguments", &ToolCall::arguments));
    }
    friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

struct ToolResult {
    /// ToolCall::id.
    std::string call_id = {};
    std::string name = {};
    /// A text is given to the model as it is, all else as JSON.
    Value output = {};
    bool is_error = false;
    static constexpr auto fields() {
        return stategraph::fields(field("call_id", &ToolResult::call_id), field("name", &ToolResult::name),
                                  field("output", &ToolResult::output, defaulted),
                                  field("is_error", &ToolResult::is_error, defaulted));
    }
    /// What the model is given.
    std::string text() const;
    friend bool operator==(const ToolResult&, const ToolResult&) = default;
};

/// What a call of a model cost, in tokens, as its provider counts them.
struct Usage {
    std::int64_t input_tokens = 0;
    std::int64_t output_tokens = 0;
    /// Of the output, what was thought and not said.
    std::int64_t reasoning_tokens = 0;
    /// Of the input, what the provider knew already.
    std::int64_t cached_tokens = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("input_tokens", &Usage::input_tokens),
                                  field("output_tokens", &Usage::output_tokens),
                                  field("reasoning_tokens", &Usage::reasoning_tokens, defaulted),
                                  field("cached_tokens", &Usage::cached_tokens, defaulted));
    }
    friend Usage operator+(const Usage& a, const Usage& b) {
        return {a.input_tokens + b.input_tokens, a.output_tokens + b.output_tokens,
                a.reasoning_tokens + b.reasoning_tokens, a.cached_tokens + b.cached_tokens};
    }
    friend bool operator==(const Usage&, const Usage&) = default;
};

/// One message of a conversation. A value type; fits a channel with `addMessages`.
struct Message {
    Role role = Role::user;
    std::vector<Part> content = {};
    /// Of an assistant's: the tools that it wants to have called, in its order.
    std::vector<ToolCall> calls = {};
    /// Of a tool's: what the call gave.
    std::optional<ToolResult> result = {};
    /// Of an assistant's.
    std::optional<FinishReason> finish_reason = {};
    std::optional<Usage> usage = {};
    /// Empty: the library gives it one when it is written, the same in every repetition of the task.
    std::string id = {};

    /// Its text parts, one behind the other.
    std::string text() const;
    bool isRemoval() const { return role == Role::remove; }
    static constexpr auto fields() {
        return stategraph::fields(field("role", &Message::role), field("content", &Message::content, defaulted),
                                  field("calls", &Message::calls, defaulted), field("result", &Message::result),
                                  field("finish_reason", &Message::finish_reason), field("usage", &Message::usage),
                                  field("id", &Message::id, defaulted));
    }
    friend bool operator==(const Message&, const Message&) = default;
};

Message user(std::string text);
Message system(std::string text);
Message assistant(std::string text);
/// An assistant's message that wants these tools to be called.
Message assistant(std::vector<ToolCall> calls);
/// What a call gave. Its id is made from the call's, so that writing it twice leaves one.
Message toolResult(const ToolCall& call, Value output, bool is_error = false);

/// The conversation as providers want it: directly behind each message with calls stand their results, in the order of
/// the calls. A call without a result (its run was cancelled, or somebody spoke meanwhile) gets one that says so, and
/// a result without a call is left out.
/// None: it is so already. Cost: a pass over the messages.
std::optional<std::vector<Message>> mendHistory(const std::vector<Message>& messages);

}  // namespace stategraph::model
