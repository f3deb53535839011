#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/channel.hpp>
#include <stategraph/messages.hpp>
#include <stategraph/model/message.hpp>
#include <stategraph/value.hpp>

namespace stategraph {
struct StreamEvent;
}

// The state of an agent's thread, its questions and their answers.
namespace stategraph::agent {

/// Which calls of a run need approval, in addition to those for which tools or the agent's options require it. It is
/// stored in the state, so it holds after a pause and in every process.
struct RunApproval {
    /// Every call.
    bool all = false;
    /// Calls of these tools, by name.
    std::vector<std::string> tools = {};
    static constexpr auto fields() {
        return stategraph::fields(field("all", &RunApproval::all, defaulted),
                                  field("tools", &RunApproval::tools, defaulted));
    }
};

/// The state of an agent's graph. A turn is everything that follows one input.
struct State {
    std::vector<model::Message> messages = {};
    /// The number of calls of the model in this turn.
    std::int64_t steps = 0;
    /// The tokens of this turn, and those of the turns before it: of every call of a model whose answer came, also of
    /// sub-agents and of middleware. They are stored in the commit that stores the answer, or the tool's result.
    model::UsageByModel usage = {};
    model::UsageByModel earlier_usage = {};
    /// Why the turn ended: "stop", "length", "content-filter", "max-steps", "tool-called", "max-tokens",
    /// "invalid-output", "other", or the text of a condition of yours. Empty until the turn has ended.
    std::string stop_reason = {};
    /// The answer of an agent with an output type; null if it gave none of that type.
    Value output = {};
    RunApproval approval = {};
    /// How often an answer of the wrong shape was sent back to the model in this turn.
    std::int64_t repairs = 0;
    /// What middleware keeps in the thread, by its name (ModelCall::keep).
    std::map<std::string, Value> kept = {};
    /// The Commands that tools have returned in the last superstep; the next one follows them.
    std::vector<Value> commands = {};
    /// How many of the messages that were sent while runs were under way (Agent::send) the thread has taken.
    std::int64_t taken = 0;

    /// The last answer's text; empty if there is none.
    std::string text() const;
    /// The tokens of the whole thread.
    model::UsageByModel threadUsage() const { return earlier_usage + usage; }

    static constexpr auto channels() {
        return stategraph::channels(channel("messages", &State::messages, addMessages), channel("steps", &State::steps),
                                    channel("usage", &State::usage, sum),
                                    channel("earlier_usage", &State::earlier_usage, sum),
                                    channel("stop_reason", &State::stop_reason), channel("output", &State::output),
                                    channel("approval", &State::approval), channel("repairs", &State::repairs),
                                    channel("kept", &State::kept, merge), channel("commands", &State::commands, topic),
                                    channel("taken", &State::taken));
    }
};

/// The question of a call that needs approval. The answer is a Decision.
struct ApprovalRequest {
    static constexpr std::string_view tag = "tool-approval";
    std::string call_id = {};
    std::string provider_id = {};
    std::string tool = {};
    Value arguments = {};
    static constexpr auto fields() {
        return stategraph::fields(
            field("call_id", &ApprovalRequest::call_id), field("provider_id", &ApprovalRequest::provider_id),
            field("tool", &ApprovalRequest::tool), field("arguments", &ApprovalRequest::arguments));
    }
};
/// The question of a call that a client executes. The answer is a ClientResult.
struct ClientRequest {
    static constexpr std::string_view tag = "tool-call";
    std::string call_id = {};
    std::string provider_id = {};
    std::string tool = {};
    Value arguments = {};
    static constexpr auto fields() {
        return stategraph::fields(field("call_id", &ClientRequest::call_id),
                                  field("provider_id", &ClientRequest::provider_id),
                                  field("tool", &ClientRequest::tool), field("arguments", &ClientRequest::arguments));
    }
};
/// The question of a call that was begun and whose end is unknown (OnDoubt::ask). The answer is "repeat", or
/// {"result": value} if it was executed; Agent::decide and Agent::give make it.
struct DoubtRequest {
    static constexpr std::string_view tag = "tool-doubt";
    std::string call_id = {};
    std::string provider_id = {};
    std::string tool = {};
    /// Those with which it was begun.
    Value arguments = {};
    static constexpr auto fields() {
        return stategraph::fields(field("call_id", &DoubtRequest::call_id),
                                  field("provider_id", &DoubtRequest::provider_id), field("tool", &DoubtRequest::tool),
                                  field("arguments", &DoubtRequest::arguments));
    }
};
/// The question of a tool's call. On the wire and in the log it is an object with a "type".
using Question = std::variant<ApprovalRequest, ClientRequest, DoubtRequest>;

/// A piece of an answer that the model is writing, as the stream's mode `messages` reports it. `id` is the id of the
/// whole message; one of `content`, `reasoning`, `calls` and `provider` is set. A hub joins pieces of `content` for
/// slow readers (OnFull::coalesce).
struct Piece {
    std::string id = {};
    model::Role role = model::Role::assistant;
    std::optional<std::string> content = {};
    std::optional<std::string> reasoning = {};
    /// One call. The first piece of a call has its name, each later piece a part of its arguments.
    std::vector<model::ToolCall> calls = {};
    /// One whole part about a tool that the provider executed.
    std::vector<model::ProviderPart> provider = {};
    static constexpr auto fields() {
        return stategraph::fields(field("id", &Piece::id), field("role", &Piece::role),
                                  field("content", &Piece::content), field("reasoning", &Piece::reasoning),
                                  field("calls", &Piece::calls, defaulted),
                                  field("provider", &Piece::provider, defaulted));
    }
};

/// Returns the text that an event of the stream's mode `messages` adds to an answer: that of a Piece, or of a whole
/// answer that was not reported in pieces (ModelCall::is_held). None for every other event.
std::optional<std::string> textIn(const StreamEvent& event);

/// The answer to an ApprovalRequest.
struct Decision {
    bool approved = false;
    /// The reason that the model receives if the call is declined.
    std::string reason = {};
    /// Arguments that replace the model's, if the call is approved.
    std::optional<Value> arguments = {};
    static constexpr auto fields() {
        return stategraph::fields(field("approved", &Decision::approved), field("reason", &Decision::reason, defaulted),
                                  field("arguments", &Decision::arguments));
    }
};
/// The answer to a ClientRequest.
struct ClientResult {
    Value output = {};
    bool is_error = false;
    static constexpr auto fields() {
        return stategraph::fields(field("output", &ClientResult::output),
                                  field("is_error", &ClientResult::is_error, defaulted));
    }
};

}  // namespace stategraph::agent
