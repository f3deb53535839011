#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/agent/middleware.hpp>
#include <stategraph/model/model.hpp>
#include <stategraph/model/prune.hpp>

// Middleware that many agents need. Each has a name of its own, which an option changes if an agent has two of a kind.
// Where tokens of messages are estimated, four bytes of text, arguments and results count as one, and a file as 1,000.
namespace stategraph::agent {

/// Options of `summarize`.
struct SummarizeOptions {
    /// The model that writes summaries. Required.
    std::shared_ptr<const model::Model> model = {};
    /// A summary is made when more than this many tokens, as estimated, would be sent.
    std::int64_t above_tokens = 50'000;
    /// The newest messages that are sent as they are, at least this many.
    std::size_t keep_messages = 20;
    /// What the model is instructed to do.
    std::string instructions =
        "Summarise this conversation so that it can be continued without it: facts, decisions, open questions and "
        "names. Write nothing else.";
    /// Middleware::name.
    std::string name = "summarize";
};
/// Sends a summary in place of the older messages of a long conversation. The state keeps all messages; the summary is
/// kept in the thread and grows with it, so that each message is summarised once. Errors: InvalidArgumentError without
/// a model; what that model throws fails the call.
Middleware summarize(SummarizeOptions options);

/// Options of `trim`.
struct TrimOptions {
    /// Older messages are left out until at most this many tokens, as estimated, are sent. The message with which the
    /// turn began, and what follows it, are always sent.
    std::int64_t max_tokens = 50'000;
    /// What is left out before that, whatever the length.
    model::PruneOptions prune = {};
    /// Middleware::name.
    std::string name = "trim";
};
/// Sends the newest part of a long conversation, which begins with a message of the user. The state keeps all messages.
Middleware trim(TrimOptions options);

/// Options of `budget`.
struct BudgetOptions {
    /// The most tokens of a thread, input and output together; none: unlimited.
    std::optional<std::int64_t> tokens = {};
    /// The most that a thread may cost, by Options::prices; none: unlimited.
    std::optional<model::Money> cost = {};
    /// Middleware::name.
    std::string name = "budget";
};
/// Ends a turn with the reason "budget" instead of calling the model, once the thread (State::threadUsage) has used up
/// its budget. The call that exceeds it is finished. With a limit of money, a model that has answered and has no price
/// fails the run with InvalidArgumentError, because what it costs is unknown.
Middleware budget(BudgetOptions options);

/// Options of `limitCalls`.
struct LimitCallsOptions {
    /// The tool whose calls are counted; empty: those of all tools together.
    std::string tool = {};
    /// The most calls in a turn.
    std::size_t per_turn = 10;
    /// Middleware::name.
    std::string name = "limit_calls";
};
/// Offers the model no tool whose calls are used up, and removes calls above the limit from its answers.
Middleware limitCalls(LimitCallsOptions options);

/// Options of `redact`.
struct RedactOptions {
    /// Replaces addresses of e-mail by "[email]".
    bool emails = true;
    /// Replaces numbers of payment cards by "[card]": 13 to 19 digits, also with blanks and hyphens between them, of
    /// which the last is the right check digit.
    bool cards = true;
    /// Further replacements, in order: a text is what it is to become.
    std::vector<std::function<std::string(std::string text)>> also = {};
    /// Whether the texts of answers are redacted too, before they are stored. They then reach readers of the stream
    /// whole.
    bool answers = true;
    /// Middleware::name.
    std::string name = "redact";
};
/// Redacts texts and results of tools as the model receives them, and its answers. What the user has written, and what
/// tools returned, is stored as it was.
Middleware redact(RedactOptions options = {});

/// Options of `guard`.
struct GuardOptions {
    /// Decides whether a message of the user is refused: none, or what is answered instead. Empty: nothing is refused.
    std::function<std::optional<std::string>(std::string_view text)> input = {};
    /// Decides whether an answer is refused: none, or what is answered instead. Empty: nothing is refused.
    std::function<std::optional<std::string>(std::string_view text)> output = {};
    /// A model that is asked whether the user's message breaks `rules`. Null: none is asked.
    std::shared_ptr<const model::Model> judge = {};
    /// The rules, as a text for the judge. Required with one.
    std::string rules = {};
    /// What is answered if the judge says so.
    std::string refusal = "I cannot help with that.";
    /// Middleware::name.
    std::string name = "guard";
};
/// Refuses messages of the user before the model is called, and answers before they are stored. Messages are judged as
/// the middleware before it in Options::middleware has left them: a `redact` there hides from the judge what it hides
/// from the model. A refused turn ends with "content-filter". With `output`, answers reach readers of the stream whole.
Middleware guard(GuardOptions options);

/// Asks the next of these models when one fails with ModelError and has reported no piece of its answer. The agent's
/// own model is the first. After the last one, its error fails the call.
Middleware fallBack(std::vector<std::shared_ptr<const model::Model>> models, std::string name = "fall_back");

/// Options of `selectTools`.
struct SelectToolsOptions {
    /// The model that selects. Required.
    std::shared_ptr<const model::Model> model = {};
    /// It is asked if more tools than this many are offered, and selects at most so many.
    std::size_t most = 8;
    /// Tools that are offered in any case.
    std::vector<std::string> always = {};
    /// Middleware::name.
    std::string name = "select_tools";
};
/// Has a small model select, once a turn, the tools that the message of the user may need. If it names none, all are
/// offered.
Middleware selectTools(SelectToolsOptions options);

/// Marks the ends of three beginnings of the prompt, which Anthropic then caches: the instructions with the tools, the
/// message with which the turn began, and the last message. Other formats do not receive the marks
/// (model::providerOptions), because their servers cache without them. Cost: copies the messages.
Middleware cachePrompt(std::string name = "cache_prompt");

}  // namespace stategraph::agent
