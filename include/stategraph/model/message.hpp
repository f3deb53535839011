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

// Messages between people, models and tools. These are the records of the log; each provider's wire format is created
// from them.
namespace stategraph::model {

/// Who wrote a message.
enum class Role : std::uint8_t {
    system,
    user,
    assistant,
    tool,    // the result of a tool's call
    remove,  // written to a channel, it removes the message with its id
    amend,   // written to a channel, it gives calls of the message with its id the arguments of its own calls
};
/// The names under which roles are stored.
constexpr auto enumNames(Role) {
    return stategraph::enumNames<Role>({{"system", Role::system},
                                        {"user", Role::user},
                                        {"assistant", Role::assistant},
                                        {"tool", Role::tool},
                                        {"remove", Role::remove},
                                        {"amend", Role::amend}});
}

/// Why a model stopped.
enum class FinishReason : std::uint8_t {
    stop,            // its answer is complete
    tool_calls,      // it waits for results of calls
    length,          // a limit of tokens cut its answer off
    content_filter,  // a filter of the provider cut its answer off
    other,
    aborted,  // its run was stopped, and this is what had come; it has no calls
    paused,   // the provider's own tools are not done: the model continues if it is asked again with this answer
};
/// The names under which reasons are stored.
constexpr auto enumNames(FinishReason) {
    return stategraph::enumNames<FinishReason>({{"stop", FinishReason::stop},
                                                {"tool-calls", FinishReason::tool_calls},
                                                {"length", FinishReason::length},
                                                {"content-filter", FinishReason::content_filter},
                                                {"other", FinishReason::other},
                                                {"aborted", FinishReason::aborted},
                                                {"paused", FinishReason::paused}});
}
/// The name as it is stored, such as "tool-calls".
const char* toString(FinishReason reason) noexcept;

/// A part of a message that is text.
struct Text {
    static constexpr std::string_view tag = "text";
    std::string text = {};
    static constexpr auto fields() { return stategraph::fields(field("text", &Text::text)); }
    friend bool operator==(const Text&, const Text&) = default;
};
/// What a model thought before it answered. Providers that require it in later requests require its signature too; it
/// is sent back unchanged.
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
/// A picture or another file: `media_type`, such as "image/png", and either an address (`url`) or base64 (`data`).
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
/// What a ProviderPart is.
enum class ProviderPartKind : std::uint8_t {
    call,
    result,
    source,    // the source of the text before it
    metadata,  // what the server attached to the message or its calls, and requires again; not for display
    options,   // members for the element before it (providerOptions); not for display
};
constexpr auto enumNames(ProviderPartKind) {
    return stategraph::enumNames<ProviderPartKind>({{"call", ProviderPartKind::call},
                                                    {"result", ProviderPartKind::result},
                                                    {"source", ProviderPartKind::source},
                                                    {"metadata", ProviderPartKind::metadata},
                                                    {"options", ProviderPartKind::options}});
}
/// A part of an answer that only its provider understands. It concerns a tool which the provider executed, such as its
/// web search, or is metadata, such as the signatures of Gemini's thoughts, or has options of the caller. It is sent
/// to a provider of the same format, and metadata only to the server that sent it.
struct ProviderPart {
    static constexpr std::string_view tag = "provider";
    ProviderPartKind kind = ProviderPartKind::call;
    /// "anthropic", "openai", "openai-responses" or "gemini".
    std::string format = {};
    /// The provider's id of the call, and the tool's name. Empty for sources; a result's name is its call's. Metadata
    /// have the server's host as their name.
    std::string call_id = {};
    std::string name = {};
    /// JSON as the provider wrote it: a call's or a result's whole block, a source, or the members of metadata.
    std::string data = {};
    static constexpr auto fields() {
        return stategraph::fields(field("kind", &ProviderPart::kind), field("format", &ProviderPart::format),
                                  field("call_id", &ProviderPart::call_id, defaulted),
                                  field("name", &ProviderPart::name, defaulted), field("data", &ProviderPart::data));
    }
    friend bool operator==(const ProviderPart&, const ProviderPart&) = default;
};
/// The arguments that the model wrote for a call which a person approved with other ones. It is for readers of the
/// conversation, and not sent to models.
struct OriginalArguments {
    static constexpr std::string_view tag = "original-arguments";
    /// ToolCall::id of the call.
    std::string call_id = {};
    std::string arguments = {};
    static constexpr auto fields() {
        return stategraph::fields(field("call_id", &OriginalArguments::call_id),
                                  field("arguments", &OriginalArguments::arguments));
    }
    friend bool operator==(const OriginalArguments&, const OriginalArguments&) = default;
};
/// A part of a message: text, thoughts, a file, something of the provider, or what a call was before it was edited.
using Part = std::variant<Text, Reasoning, File, ProviderPart, OriginalArguments>;

/// A model's request to call a tool.
struct ToolCall {
    /// Assigned by the library and unique in the conversation. Approvals and results refer to it. Empty in a model's
    /// reply, until the agent stores it.
    std::string id = {};
    /// The provider's id, which is sent back to the provider. May be empty, and may be used again in a later turn.
    std::string provider_id = {};
    std::string name = {};
    /// JSON text, as the model wrote it or as the call was executed. Empty means `{}`.
    std::string arguments = {};
    static constexpr auto fields() {
        return stategraph::fields(field("id", &ToolCall::id), field("provider_id", &ToolCall::provider_id, defaulted),
                                  field("name", &ToolCall::name), field("arguments", &ToolCall::arguments));
    }
    friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

/// The result of a call.
struct ToolResult {
    /// ToolCall::id of the call.
    std::string call_id = {};
    std::string name = {};
    /// The model receives a text unchanged, and any other value as JSON.
    Value output = {};
    bool is_error = false;
    static constexpr auto fields() {
        return stategraph::fields(field("call_id", &ToolResult::call_id), field("name", &ToolResult::name),
                                  field("output", &ToolResult::output, defaulted),
                                  field("is_error", &ToolResult::is_error, defaulted));
    }
    /// `output` as the text that the model receives.
    std::string text() const;
    friend bool operator==(const ToolResult&, const ToolResult&) = default;
};

/// What a tool returns if the model is to receive something other than what is stored, such as a picture.
struct ToolOutput {
    /// The result that is stored, and that pages and programs read. Null: the texts of `content`, and lines that name
    /// its files.
    Value output = {};
    /// What the model receives: texts and files. Empty: `output`.
    std::vector<Part> content = {};
    static constexpr auto fields() {
        return stategraph::fields(field("output", &ToolOutput::output), field("content", &ToolOutput::content));
    }
    friend bool operator==(const ToolOutput&, const ToolOutput&) = default;
};

/// The cost of a call of a model in tokens, as the provider counts them. 0: none, or not reported.
struct Usage {
    std::int64_t input_tokens = 0;
    std::int64_t output_tokens = 0;
    /// The part of the output that was reasoning.
    std::int64_t reasoning_tokens = 0;
    /// The part of the input that the provider had cached.
    std::int64_t cached_tokens = 0;
    /// The part of the input that the provider wrote to its cache, which some sell at another price.
    std::int64_t cache_write_tokens = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("input_tokens", &Usage::input_tokens),
                                  field("output_tokens", &Usage::output_tokens),
                                  field("reasoning_tokens", &Usage::reasoning_tokens, defaulted),
                                  field("cached_tokens", &Usage::cached_tokens, defaulted),
                                  field("cache_write_tokens", &Usage::cache_write_tokens, defaulted));
    }
    /// The sum. A number below 0 counts as 0, and a sum that does not fit is the largest number that does.
    friend Usage operator+(const Usage& a, const Usage& b);
    friend bool operator==(const Usage&, const Usage&) = default;
};

/// One message of a conversation. A value type; fits a channel with `addMessages`.
struct Message {
    Role role = Role::user;
    /// In a message of the role tool: what the model receives in place of `result`'s output, if it has texts or files.
    std::vector<Part> content = {};
    /// The calls that a message of the role assistant requests, in order.
    std::vector<ToolCall> calls = {};
    /// The result of the call, in a message of the role tool.
    std::optional<ToolResult> result = {};
    /// Why the model stopped and what it cost, in a message of the role assistant, as far as the provider reported
    /// that.
    std::optional<FinishReason> finish_reason = {};
    std::optional<Usage> usage = {};
    /// If empty, the library assigns an id when the message is written: the same in every repetition of the task.
    std::string id = {};

    /// Returns the text parts, joined; empty if the message has none.
    std::string text() const;
    bool isRemoval() const { return role == Role::remove; }
    bool isAmendment() const { return role == Role::amend; }
    /// What an amendment does to the message with its id.
    void amend(Message& message) const;
    static constexpr auto fields() {
        return stategraph::fields(field("role", &Message::role), field("content", &Message::content, defaulted),
                                  field("calls", &Message::calls, defaulted), field("result", &Message::result),
                                  field("finish_reason", &Message::finish_reason), field("usage", &Message::usage),
                                  field("id", &Message::id, defaulted));
    }
    friend bool operator==(const Message&, const Message&) = default;
};

}  // namespace stategraph::model

namespace stategraph {
// Calls and messages are stored as any struct with a table is, but encoded at a lower cost, because agents encode a
// message in every superstep.
template <>
struct Codec<model::ToolCall> {
    static void encode(Encoder& encoder, const model::ToolCall& call);
    static void decode(Decoder& decoder, model::ToolCall& call);
};
template <>
struct Codec<model::Message> {
    static void encode(Encoder& encoder, const model::Message& message);
    static void decode(Decoder& decoder, model::Message& message);
};
}  // namespace stategraph

namespace stategraph::model {

/// Makes a part with options of the provider for the part before it, or, at the beginning of a message, for the message
/// itself: `members` is a JSON object, whose members are added to that element of the request's body if it is sent in
/// this format (ProviderPart::format). They replace the library's, except that members of an object are added to those
/// of the library's object; a null removes the member. In Anthropic's and Gemini's formats, in which several messages
/// are joined, the element of a message is its last block or part. The Responses API has none for an answer.
///
///     message.content.push_back(model::providerOptions("anthropic", R"({"cache_control":{"type":"ephemeral"}})"))
ProviderPart providerOptions(std::string format, std::string members);
/// Returns texts as they are, one part a line, and for each file a line that names it.
std::string textOf(const std::vector<Part>& content);

/// Makes a message with one text part.
Message user(std::string text);
/// Makes a message of the role system.
Message system(std::string text);
Message assistant(std::string text);
/// Makes an assistant's message that requests these calls.
Message assistant(std::vector<ToolCall> calls);
/// The result of a call as a message. Its id is derived from the call's id, so that writing it twice stores one
/// message.
Message toolResult(const ToolCall& call, Value output, bool is_error = false);

/// The conversation as providers require it: each message with calls is followed directly by their results, in the
/// order of the calls. A call without a result gets one that says that it may have run: its run was stopped, or died.
/// A result without a call is left out. Returns none if the conversation has that form already. Cost: a pass over the
/// messages.
std::optional<std::vector<Message>> mendHistory(const std::vector<Message>& messages);

}  // namespace stategraph::model
