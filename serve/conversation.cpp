#include "serve/conversation.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>
#include <stategraph/model/message.hpp>

#include "serve/ag_ui_messages.hpp"
#include "serve/built_message.hpp"
#include "serve/langchain_message.hpp"
#include "serve/told.hpp"

namespace stategraph::serve {

namespace json = boost::json;

namespace {

using Messages = std::vector<const json::object*>;

const json::object* objectIn(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    return found != nullptr ? found->if_object() : nullptr;
}

/// Finds the messages of a thread, and those of graphs inside whose turn has not ended.
class StoredMessages {
public:
    explicit StoredMessages(const json::object& state) {
        if (const json::object* const values = objectIn(state, "values")) add(*values, true);
        addInside(state);
    }
    StoredMessages(const StoredMessages&) = delete;
    StoredMessages& operator=(const StoredMessages&) = delete;

    /// They live as long as this and the state.
    const Messages& all() const noexcept { return messages_; }

private:
    void add(const json::object& channels, bool is_outermost) {
        const json::value* const written = channels.if_contains("messages");
        if (written == nullptr) return;
        for (const json::object* const message : messagesWritten(*written)) {
            const std::string_view role = roleOf(*message);
            if (role == "amend") {
                amend(*message);
                continue;
            }
            // What a graph inside was given is no message of the conversation.
            const bool is_written = role == "assistant" || role == "tool";
            const bool is_new = ids_.insert(textOf(*message, "id")).second;
            if (is_outermost || (is_written && is_new)) messages_.push_back(message);
        }
    }
    /// Changes the arguments of calls as the person did who approved them.
    void amend(const json::object& amendment) {
        const std::string id = textOf(amendment, "id");
        for (const json::object*& each : messages_) {
            if (textOf(*each, "id") != id) continue;
            auto message = fromJson(json::value(*each)).as<model::Message>();
            fromJson(json::value(amendment)).as<model::Message>().amend(message);
            each = &amended_.emplace_back(toJsonValue(Value(message)).as_object());
        }
    }
    /// What finished tasks have written, and graphs inside whose tasks are not finished.
    void addInside(const json::object& around) {
        const json::array* const tasks = listIn(around, "tasks");
        for (std::size_t i = 0; tasks != nullptr && i < tasks->size(); ++i) {
            const json::object* const task = (*tasks)[i].if_object();
            if (task == nullptr) continue;
            if (task->at("finished") == json::value(true)) {
                if (const json::object* const result = objectIn(*task, "result")) add(*result, false);
                continue;
            }
            const json::object* const inside = objectIn(*task, "state");
            const json::object* const values = inside != nullptr ? objectIn(*inside, "values") : nullptr;
            if (values == nullptr) continue;
            add(*values, false);
            addInside(*inside);
        }
    }

    Messages messages_;
    std::deque<json::object> amended_;
    std::set<std::string> ids_;
};

/// A message of a page, and the stored ones that it is made of.
struct Shown {
    std::string id;
    bool is_users = false;
    Messages stored = {};
};

/// Divides a conversation into the messages of a page. An answer has everything until the user's next message, except
/// for results of earlier calls, which belong to the answer that has these calls.
std::vector<Shown> divided(const Messages& messages) {
    std::vector<Shown> shown;
    std::map<std::string, std::size_t> answers;  // by the ids of their calls
    std::string next;                            // the id of the next answer
    const auto answer = [&](const std::string& id) {
        if (shown.empty() || shown.back().is_users) shown.push_back({.id = next.empty() ? answerId(id) : next});
        return shown.size() - 1;
    };
    for (const json::object* const message : messages) {
        const std::string_view role = roleOf(*message);
        const std::string id = textOf(*message, "id");
        if (role == "user" && !isAgentsOwn(id)) {
            next = answerId(shownUserId(id));
            shown.push_back({.id = shownUserId(id), .is_users = true, .stored = {message}});
        } else if (role == "assistant") {
            const std::size_t place = answer(id);
            shown[place].stored.push_back(message);
            const json::array* const calls = listIn(*message, "calls");
            for (std::size_t i = 0; calls != nullptr && i < calls->size(); ++i) {
                if ((*calls)[i].is_object()) answers[textOf((*calls)[i].get_object(), "id")] = place;
            }
        } else if (const json::object* const result = objectIn(*message, "result"); role == "tool" && result) {
            const auto found = answers.find(textOf(*result, "call_id"));
            if (found != answers.end()) shown[found->second].stored.push_back(message);
        }
    }
    return shown;
}

json::object usersFile(const json::object& part) {
    const std::string media = textOf(part, "media_type");
    std::string url = textOf(part, "url");
    if (url.empty()) url = "data:" + media + ";base64," + textOf(part, "data");
    return {{"type", "file"}, {"mediaType", media}, {"url", std::move(url)}};
}

json::object usersMessage(const Shown& message) {
    json::array parts;
    for (const json::object& part : partsIn(*message.stored.front())) {
        const std::string type = textOf(part, "type");
        if (type == "text") parts.push_back({{"type", "text"}, {"text", textOf(part, "text")}});
        if (type == "file") parts.push_back(usersFile(part));
    }
    return {{"id", message.id}, {"role", "user"}, {"parts", std::move(parts)}};
}

/// The answer as the protocol reports it if its messages are written now.
json::object answerMessage(const Protocol& ui, const Shown& answer, const std::vector<StreamEvent>& open) {
    const std::unique_ptr<Encoder> encoder = ui.encoder();
    std::vector<std::string> lines;
    encoder->open({}, lines);
    HubEvent event;
    event.node = "stored";
    for (const json::object* const message : answer.stored) {
        event.mode = StreamMode::messages;
        event.data = Value(json::value{{"message", *message}, {"delta", false}});
        encoder->take(event, lines);
        event.mode = StreamMode::updates;
        event.data = Value(json::value{{"stored", {{"messages", json::array{*message}}}}});
        encoder->take(event, lines);
    }
    for (const StreamEvent& each : open) {
        static_cast<StreamEvent&>(event) = each;
        encoder->take(event, lines);
    }
    return {{"id", answer.id}, {"role", "assistant"}, {"parts", partsBuiltOf(lines)}};
}

/// Returns the places of a page's first message and of the one after its last.
template <class IsBefore>
std::pair<std::size_t, std::size_t> pagePlaces(std::size_t count, const MessagePage& page, IsBefore has_id) {
    std::size_t end = count;
    if (!page.before.empty()) {
        end = 0;
        while (end < count && !has_id(end)) ++end;
        if (end == count) throw InvalidArgumentError("the conversation has no message '" + page.before + "'");
    }
    return {end - std::min(end, page.limit), end};
}

}  // namespace

std::string shownUserId(const std::string& stored) {
    const std::string prefix = storedId("", true);
    return stored.starts_with(prefix) ? stored.substr(prefix.size()) : stored;
}

std::string answerId(const std::string& user_message) { return "answer-" + user_message; }

bool isAgentsOwn(std::string_view id) noexcept { return id.starts_with("repair-"); }

json::array uiConversation(const Protocol& ui, const json::object& state, const MessagePage& page) {
    const std::vector<StreamEvent> open = openIn(state);
    const StoredMessages stored(state);
    std::vector<Shown> shown = divided(stored.all());
    if (!open.empty() && (shown.empty() || shown.back().is_users))
        shown.push_back({.id = answerId(shown.empty() ? "" : shown.back().id)});
    const auto [begin, end] =
        pagePlaces(shown.size(), page, [&](std::size_t at) { return shown[at].id == page.before; });
    json::array messages;
    for (std::size_t at = begin; at < end; ++at) {
        const bool is_last = at + 1 == shown.size();
        messages.push_back(shown[at].is_users
                               ? usersMessage(shown[at])
                               : answerMessage(ui, shown[at], is_last ? open : std::vector<StreamEvent>()));
    }
    return messages;
}

json::array langGraphConversation(const json::object& state, const MessagePage& page) {
    const StoredMessages found(state);
    const Messages& stored = found.all();
    const auto [begin, end] =
        pagePlaces(stored.size(), page, [&](std::size_t at) { return textOf(*stored[at], "id") == page.before; });
    json::array messages;
    for (std::size_t at = begin; at < end; ++at) messages.push_back(langChainMessage(*stored[at]));
    return messages;
}

}  // namespace stategraph::serve
