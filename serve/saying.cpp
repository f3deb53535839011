#include "serve/saying.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/agent/open_calls.hpp>
#include <stategraph/error.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/serve/endpoint.hpp>

#include "serve/ag_ui_messages.hpp"
#include "serve/conversation.hpp"
#include "serve/told.hpp"

// What the user says in a conversation, of an agent or of a graph with agents inside.
namespace stategraph::serve::detail {

namespace {

constexpr std::size_t message_id_max = 256;

struct Start {
    std::string text = {};
    /// In addition to the text.
    std::vector<model::File> files = {};
    /// The client's id of the message.
    std::optional<std::string> message_id = {};
    /// Whether the message is one that the conversation has: it is replaced, what came after it is removed, and it is
    /// answered anew.
    bool anew = false;
    static constexpr auto fields() {
        return stategraph::fields(field("text", &Start::text), field("files", &Start::files, defaulted),
                                  field("message_id", &Start::message_id), field("anew", &Start::anew, defaulted));
    }
};

using Messages = std::vector<model::Message>;

/// Returns what was written to a channel: several writes of a task are {"$writes": [...]}.
std::vector<Value> writesIn(const Value& written) {
    try {
        const auto several = written.as<std::map<std::string, Value>>();
        const auto found = several.find("$writes");
        if (found != several.end() && several.size() == 1) return found->second.as<std::vector<Value>>();
    } catch (const WrongTypeError&) {  // a list
    }
    return {written};
}

/// Returns the messages in {channel: value}; none if there are none, or if they are of another type.
Messages messagesIn(const Value& values) {
    if (values.isNull()) return {};
    const auto channels = values.as<std::map<std::string, Value>>();
    const auto found = channels.find("messages");
    if (found == channels.end()) return {};
    Messages all;
    try {
        for (const Value& written : writesIn(found->second))
            std::ranges::move(written.as<Messages>(), std::back_inserter(all));
    } catch (const WrongTypeError&) {
        return {};
    }
    return all;
}

bool hasMessage(const Messages& messages, const std::string& id) {
    return std::ranges::find(messages, id, &model::Message::id) != messages.end();
}

/// Returns the id under which a client's message is stored. It cannot be that of another kind of message.
std::string userMessageId(const std::string& id) {
    if (id.empty() || id.size() > message_id_max) {
        throw InvalidArgumentError("\"message_id\" must have 1 to " + std::to_string(message_id_max) + " bytes");
    }
    return storedId(id, true);
}

model::Message messageOf(const Start& given) {
    model::Message message;
    message.content.assign(given.files.begin(), given.files.end());
    if (!given.text.empty() || given.files.empty()) message.content.emplace_back(model::Text{given.text});
    return message;
}

/// Returns the place of the user's message in the conversation, or none. A message whose id the conversation does not
/// have is the user's last one, if that is equal.
std::optional<std::size_t> placeOf(const model::Message& message, const Messages& known) {
    std::optional<std::size_t> last;
    for (std::size_t at = known.size(); at-- > 0;) {
        if (known[at].id == message.id) return at;
        const bool is_users = known[at].role == model::Role::user && !isAgentsOwn(known[at].id);
        if (!last && is_users) last = at;
    }
    if (last && known[*last].content == message.content) return last;
    return {};
}

/// Gives a client's message its id: that of the message if the conversation has it, as after a lost response, which is
/// the same turn. If the conversation has other messages of this id, because the client has used it again, a number
/// follows it. Returns whether it has the message.
bool findOrName(model::Message& message, const Messages& known) {
    const std::string id = message.id;
    for (std::size_t n = 2;; ++n) {
        const auto found = std::ranges::find(known, message.id, &model::Message::id);
        if (found == known.end()) return false;
        if (found->content == message.content) return true;
        message.id = id + "-" + std::to_string(n);
    }
}

/// What agents inside have written in a turn that has not ended. The graph has it when they end, which they do not if
/// the user writes again before that.
class OpenTurn {
public:
    explicit OpenTurn(const Messages& known) {
        for (const model::Message& each : known) {
            ids_.insert(each.id);
            if (each.role == model::Role::user && !isAgentsOwn(each.id)) turn_ = each.id;
        }
    }
    Messages of(const SnapshotData& thread) {
        if (!turn_.empty()) collect(thread);
        std::set<std::string> open;
        for (const model::Message& message : messages_) {
            for (const model::ToolCall& call : message.calls) open.insert(call.id);
        }
        for (const model::Message& message : messages_) {
            if (message.result) open.erase(message.result->call_id);
        }
        for (const agent::OpenCall& call : agent::openCalls(thread.interrupts())) {
            if (open.contains(call.id)) messages_.push_back(agent::detail::unansweredCall(call));
        }
        return std::move(messages_);
    }

private:
    /// Graphs that share the conversation have its newest message.
    void collect(const SnapshotData& around) {
        for (const TaskSnapshot& task : around.tasks) {
            if (task.finished || !task.state) continue;
            const Messages inside = messagesIn(task.state->values_as_cbor);
            if (!hasMessage(inside, turn_)) continue;
            add(inside);
            for (const TaskSnapshot& inner : task.state->tasks) {
                if (inner.finished) add(messagesIn(inner.result));
            }
            collect(*task.state);
        }
    }
    void add(const Messages& messages) {
        for (const model::Message& each : messages) {
            // A person has changed the arguments of a call, whose message comes before.
            const bool is_amendment = each.isAmendment() && ids_.contains(each.id);
            if (is_amendment || (!each.isRemoval() && !each.isAmendment() && ids_.insert(each.id).second))
                messages_.push_back(each);
        }
    }

    std::string turn_;  // the id of the user's last message
    std::set<std::string> ids_;
    Messages messages_;
};

/// Returns the removals of what followed the message that is replaced, and gives the message its id.
Messages replaced(const Messages& known, model::Message& message) {
    Messages removals;
    const std::optional<std::size_t> place = placeOf(message, known);
    if (!place) return removals;
    message.id = known[*place].id;
    for (std::size_t after = *place + 1; after < known.size(); ++after) {
        model::Message removal;
        removal.role = model::Role::remove;
        removal.id = known[after].id;
        removals.push_back(std::move(removal));
    }
    return removals;
}

}  // namespace

HeldMessages heldMessages(const stategraph::detail::Core& core, const std::string& input_schema) {
    const GraphDescription graph = stategraph::detail::describeGraph(core);
    const DescribedChannel* const channel = graph.findChannel("messages");
    if (channel == nullptr || channel->name != "messages" || channel->reducer != "messages") return {};
    boost::system::error_code broken;  // the library wrote it
    const boost::json::value schema = parsedText(input_schema, broken);
    const boost::json::value* found = &schema;
    for (const char* const member : {"properties", "messages", "items", "properties", "calls"}) {
        const boost::json::object* const object = found != nullptr ? found->if_object() : nullptr;
        found = object != nullptr ? object->if_contains(member) : nullptr;
    }
    return {.are_held = found != nullptr,
            .are_shared = std::ranges::any_of(graph.nodes, [](const auto& node) { return node.subgraph.has_value(); })};
}

bool saysText(const Value& body) {
    try {
        return body.as<std::map<std::string, Value>>().contains("text");
    } catch (const WrongTypeError&) {
        return false;
    }
}

Saying sayingOf(const Value& body, const HeldMessages& held, const std::function<SnapshotData()>& read) {
    if (body.as<std::map<std::string, Value>>().contains("input"))
        throw InvalidArgumentError("give either \"text\" or \"input\"");
    const auto given = body.asStrict<Start>();
    model::Message message = messageOf(given);
    if (given.message_id) message.id = userMessageId(*given.message_id);
    Saying saying;
    Messages changes;
    if (given.message_id || held.are_shared) {
        const SnapshotData thread = read();
        const Messages known = messagesIn(thread.values_as_cbor);
        if (given.message_id && given.anew) {
            changes = replaced(known, message);
        } else {
            saying.repeats = given.message_id && findOrName(message, known);
            if (!saying.repeats) changes = OpenTurn(known).of(thread);
        }
        if (given.message_id || !changes.empty()) saying.at = thread.config.checkpoint_id;
        saying.was_read = given.message_id || !changes.empty();
    }
    if (given.message_id) saying.message_id = shownUserId(message.id);
    changes.push_back(std::move(message));
    saying.input = Value(std::map<std::string, Value>{{"messages", Value(changes)}});
    return saying;
}

Messages conversationIn(const SnapshotData& thread) { return messagesIn(thread.values_as_cbor); }

std::optional<model::Message> sentMessage(const Value& body, const std::function<Messages()>& known) {
    const auto given = body.asStrict<Start>();
    if (given.anew)
        throw InvalidArgumentError(
            "while a run is under way a new message can be sent, and nothing be edited or asked anew");
    model::Message message = messageOf(given);
    if (!given.message_id) return message;
    message.id = userMessageId(*given.message_id);
    if (findOrName(message, known())) return {};
    return message;
}

Begin sayingBegin(const Saying& saying, Begin start, Begin resume) {
    Begin says = [start = std::move(start), at = saying.at, was_read = saying.was_read](RunConfig config) {
        if (was_read && config.only_at.empty()) config.only_at = at;
        config.only_new = config.only_new || (was_read && at.empty() && config.on_busy != OnBusy::replace);
        return start(std::move(config));
    };
    if (saying.repeats) {
        // The messages that the turn has written are not written again.
        says = [resume = std::move(resume), is_refused = says, at = saying.at](RunConfig config) {
            if (config.only_new) return is_refused(std::move(config));
            if (config.only_at.empty()) config.only_at = at;
            return resume(std::move(config));
        };
    }
    says.message_id = saying.message_id;
    says.repeats = saying.repeats;
    return says;
}

}  // namespace stategraph::serve::detail
