#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/channel.hpp>
#include <stategraph/messages.hpp>
#include <stategraph/model/message.hpp>
#include <stategraph/value.hpp>

// What an agent's thread holds, and what it asks.
namespace stategraph::agent {

/// Which calls of a run somebody must approve, beside what tools and the agent say. A part of the state: it holds over
/// pauses, in every process.
struct RunApproval {
    bool all = false;
    std::vector<std::string> tools = {};
    static constexpr auto fields() {
        return stategraph::fields(field("all", &RunApproval::all, defaulted),
                                  field("tools", &RunApproval::tools, defaulted));
    }
};

/// The state of an agent's graph. A turn is what follows one input.
struct State {
    std::vector<model::Message> messages = {};
    /// Calls of the model in this turn, and what they cost.
    std::int64_t steps = 0;
    model::Usage usage = {};
    /// Why the turn ended: "stop", "length", "content-filter", "max-steps", "tool-called", "invalid-output", or what a
    /// condition of the user's says. Empty while it has not.
    std::string stop_reason = {};
    /// The answer as JSON, of an agent with an output type.
    Value output = {};
    RunApproval approval = {};
    /// How often an answer of the wrong shape was sent back in this turn.
    std::int64_t repairs = 0;

    /// The last answer's text; empty if there is none.
    std::string text() const;

    static constexpr auto channels() {
        return stategraph::channels(channel("messages", &State::messages, addMessages), channel("steps", &State::steps),
                                    channel("usage", &State::usage), channel("stop_reason", &State::stop_reason),
                                    channel("output", &State::output), channel("approval", &State::approval),
                                    channel("repairs", &State::repairs));
    }
};

/// The question of a call that somebody must approve. It is answered with a Decision.
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
/// The question of a call that this program does not execute. It is answered with a ClientResult.
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
/// What a tool's call asks; on the wire and in the log an object with a "type".
using Question = std::variant<ApprovalRequest, ClientRequest>;

/// A piece of an answer while the model makes it, as the stream's mode `messages` tells it: under the id of the whole
/// message, one of the three. Slow readers of a hub get pieces of `content` joined (OnFull::coalesce).
struct Piece {
    std::string id = {};
    model::Role role = model::Role::assistant;
    std::optional<std::string> content = {};
    std::optional<std::string> reasoning = {};
    /// One call: its beginning has a name, each other piece a part of its arguments.
    std::vector<model::ToolCall> calls = {};
    static constexpr auto fields() {
        return stategraph::fields(field("id", &Piece::id), field("role", &Piece::role),
                                  field("content", &Piece::content), field("reasoning", &Piece::reasoning),
                                  field("calls", &Piece::calls, defaulted));
    }
};

struct Decision {
    bool approved = false;
    /// For the model, if it was declined.
    std::string reason = {};
    /// Instead of the model's arguments, if it was approved.
    std::optional<Value> arguments = {};
    static constexpr auto fields() {
        return stategraph::fields(field("approved", &Decision::approved), field("reason", &Decision::reason, defaulted),
                                  field("arguments", &Decision::arguments));
    }
};
struct ClientResult {
    Value output = {};
    bool is_error = false;
    static constexpr auto fields() {
        return stategraph::fields(field("output", &ClientResult::output),
                                  field("is_error", &ClientResult::is_error, defaulted));
    }
};

}  // namespace stategraph::agent
