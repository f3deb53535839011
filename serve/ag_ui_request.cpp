#include "serve/ag_ui_request.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "serve/ag_ui_messages.hpp"
#include "serve/told.hpp"

namespace stategraph::serve {

namespace json = boost::json;

namespace {

json::array takeList(json::object& from, std::string_view member) {
    json::value* const found = from.if_contains(member);
    if (found == nullptr || found->is_null()) return {};
    if (!found->is_array())
        throw InvalidArgumentError("the member \"" + std::string(member) + "\" of the body is no list");
    return std::move(found->get_array());
}

const json::object* lastMessage(const json::array& messages) {
    for (std::size_t at = messages.size(); at-- > 0;) {
        const json::object* const message = messages[at].if_object();
        if (message != nullptr && !roleOf(*message).empty()) return message;
    }
    return nullptr;
}

const json::object* memberOf(const json::object* object, std::string_view member) {
    const json::value* const found = object != nullptr ? object->if_contains(member) : nullptr;
    return found != nullptr ? found->if_object() : nullptr;
}

/// What a thread has, for what is new in a request.
struct Stored {
    json::value state = {};

    explicit Stored(const std::string& text) {
        boost::system::error_code broken;  // the library wrote it
        if (!text.empty()) state = parsedText(text, broken);
    }
    const json::object* values() const { return memberOf(state.if_object(), "values"); }
    std::vector<ToldQuestion> questions() const {
        return state.is_object() ? questionsOf(state.get_object()) : std::vector<ToldQuestion>();
    }
    std::set<std::string> messages() const {
        std::set<std::string> ids;
        const json::value* const found = values() != nullptr ? values()->if_contains("messages") : nullptr;
        if (found == nullptr || !found->is_array()) return ids;
        for (const json::value& each : found->get_array()) {
            if (each.is_object()) ids.insert(textOf(each.get_object(), "id"));
        }
        return ids;
    }
};

/// The result that a client's tool has given: what is no JSON is a text.
json::value givenIn(const json::object& message) {
    const std::string text = textOfParts(partsOf(message));
    boost::system::error_code broken;
    json::value read = parsedText(text, broken);
    return broken ? json::value(text) : std::move(read);
}

/// The answer of a resume entry. A call that is approved or declined takes {"approved", …}, or true or false alone.
json::value answerIn(const json::object& entry, const ToldQuestion& question) {
    const std::string status = textOf(entry, "status");
    if (status != "resolved" && status != "cancelled") {
        throw InvalidArgumentError("the \"status\" of the answer to the interrupt '" + question.interrupt_id +
                                   R"(' is neither "resolved" nor "cancelled")");
    }
    const json::value* const found = entry.if_contains("payload");
    const json::value payload = found != nullptr ? *found : json::value();
    if (question.kind == "tool-approval") {
        if (status == "cancelled") return {{"approved", false}, {"reason", "the question was cancelled"}};
        return payload.is_bool() ? json::value{{"approved", payload}} : payload;
    }
    if (question.kind == "tool-call") {
        if (status == "cancelled") return {{"output", "the call was cancelled"}, {"is_error", true}};
        return {{"output", payload}};
    }
    return status == "cancelled" ? json::value() : payload;
}

/// The answers of a request, each with its question.
class GivenAnswers {
public:
    GivenAnswers(const AgUiRequest& request, const std::vector<ToldQuestion>& open) : request_(request), open_(open) {
        for (const json::value& each : request.resume) readEntry(each);
        for (std::size_t at = request.messages.size(); at-- > 0;) {
            const json::object* const message = request.messages[at].if_object();
            if (message == nullptr || roleOf(*message) != "tool") break;
            readResult(*message);
        }
    }
    AgUiTurn turn(bool is_agent) const {
        if (continues_ && answers_.empty()) return {Operation::resume, Value(json::value(json::object()))};
        if (answers_.empty()) {
            throw InvalidArgumentError("no question of the thread '" + request_.thread +
                                       "' waits for the results of the last messages");
        }
        // An agent checks decisions about its calls before the run begins.
        const bool decides =
            is_agent && std::ranges::all_of(answers_, [](const auto& each) { return each.first->isOfCall(); });
        json::array all;
        for (const auto& [question, answer] : answers_) {
            if (!decides) {
                all.push_back({{"id", question->interrupt_id}, {"value", answer}});
                continue;
            }
            const json::object* const given = answer.if_object();
            if (given == nullptr) {
                throw InvalidArgumentError("the \"payload\" about the call '" + question->call_id +
                                           R"(' is no {"approved": true or false})");
            }
            json::object decision = *given;
            decision["call_id"] = question->call_id;
            all.emplace_back(std::move(decision));
        }
        if (decides) return {Operation::decide, Value(json::value{{"decisions", std::move(all)}})};
        return {Operation::resume, Value(json::value{{"answers", std::move(all)}})};
    }

private:
    void readEntry(const json::value& given) {
        const json::object* const entry = given.if_object();
        const std::string id = entry != nullptr ? textOf(*entry, "interruptId") : std::string();
        if (id == breakpoint_id && open_.empty()) {
            continues_ = true;
            return;
        }
        const auto question = std::ranges::find(open_, id, &ToldQuestion::interrupt_id);
        if (question == open_.end()) {
            throw InvalidArgumentError("no question '" + id + "' of the thread '" + request_.thread +
                                       "' waits for an answer: it may have been answered before");
        }
        answers_.emplace_back(&*question, answerIn(*entry, *question));
    }
    /// A result of an earlier turn stays in the client's messages.
    void readResult(const json::object& message) {
        const std::string call = textOf(message, "toolCallId");
        const auto question = std::ranges::find_if(
            open_, [&](const ToldQuestion& each) { return each.kind == "tool-call" && each.call_id == call; });
        if (question == open_.end()) return;
        json::object result{{"output", givenIn(message)}};
        if (const std::string error = textOf(message, "error"); !error.empty()) {
            result["is_error"] = true;
            if (result["output"] == json::value("")) result["output"] = error;
        }
        answers_.emplace_back(&*question, std::move(result));
    }

    const AgUiRequest& request_;
    const std::vector<ToldQuestion>& open_;
    std::vector<std::pair<const ToldQuestion*, json::value>> answers_;
    bool continues_ = false;
};

Value textStart(const json::object& message) {
    json::array parts = partsOf(message);
    json::object start{{"text", textOfParts(parts)}};
    json::array files;
    for (json::value& part : parts) {
        if (textOf(part.get_object(), "type") != "file") continue;
        part.get_object().erase("type");
        files.push_back(std::move(part));
    }
    if (!files.empty()) start["files"] = std::move(files);
    if (const std::string id = textOf(message, "id"); !id.empty()) start["message_id"] = id;
    return Value(json::value(std::move(start)));
}

/// How the graph's input has messages, by its JSON Schema.
StoredForm formIn(const json::object* channels) {
    if (channels == nullptr) return StoredForm::json;  // channels that are named at run time
    const json::object* const messages = memberOf(channels, "messages");
    if (messages == nullptr) throw InvalidArgumentError("this graph's input has no channel \"messages\"");
    const json::object* const members = memberOf(memberOf(messages, "items"), "properties");
    if (members == nullptr) return StoredForm::json;
    return members->contains("calls") ? StoredForm::typed : StoredForm::plain;
}

/// The messages that the thread does not have, and the channels that the client has changed.
Value graphStart(const AgUiRequest& request, const Endpoint& endpoint, const Stored& stored) {
    boost::system::error_code broken;
    const json::value schema = parsedText(endpoint.inputSchema(), broken);
    const json::object* const channels = memberOf(schema.if_object(), "properties");
    const StoredForm form = formIn(channels);
    const std::set<std::string> known = stored.messages();
    json::array messages;
    for (const json::value& each : request.messages) {
        const json::object* const message = each.if_object();
        if (message == nullptr || known.contains(textOf(*message, "id"))) continue;
        if (json::value made = storedMessage(*message, form); !made.is_null()) messages.push_back(std::move(made));
    }
    json::object input{{"messages", std::move(messages)}};
    const json::object* const state = request.state.if_object();
    for (std::size_t i = 0; state != nullptr && i < state->size(); ++i) {
        const auto& [name, value] = *(state->begin() + static_cast<std::ptrdiff_t>(i));
        if (name == "messages" || (channels != nullptr && !channels->contains(name))) continue;
        const json::value* const before = stored.values() != nullptr ? stored.values()->if_contains(name) : nullptr;
        if (before == nullptr || *before != value) input[name] = value;
    }
    return Value(json::value{{"input", std::move(input)}});
}

}  // namespace

bool AgUiRequest::givesResults() const {
    const json::object* const last = lastMessage(messages);
    return last != nullptr && roleOf(*last) == "tool";
}

bool AgUiRequest::beginsRun() const {
    const json::object* const last = lastMessage(messages);
    return answers() || (last != nullptr && roleOf(*last) == "user");
}

AgUiRequest readAgUi(const Value& body) {
    json::value all = toJsonValue(body);
    json::object* const given = all.if_object();
    if (given == nullptr) throw InvalidArgumentError("the body is no object {\"threadId\", \"runId\", \"messages\"}");
    AgUiRequest request{.thread = textOf(*given, "threadId"), .run = textOf(*given, "runId")};
    if (request.thread.empty() || request.run.empty())
        throw InvalidArgumentError("the body needs the texts \"threadId\" and \"runId\"");
    request.messages = takeList(*given, "messages");
    request.resume = takeList(*given, "resume");
    if (json::value* const state = given->if_contains("state")) request.state = std::move(*state);
    return request;
}

Opening openingOf(const AgUiRequest& request) {
    Opening opening{.thread = request.thread, .run = request.run};
    for (const json::value& each : request.messages) {
        if (each.is_object()) opening.messages.insert(textOf(each.get_object(), "id"));
    }
    return opening;
}

AgUiTurn turnOf(const AgUiRequest& request, const Endpoint& endpoint, const std::string& stored) {
    const Stored thread(stored);
    if (request.answers()) {
        const std::vector<ToldQuestion> open = thread.questions();
        return GivenAnswers(request, open).turn(endpoint.takesTexts());
    }
    const json::object& last = *lastMessage(request.messages);
    const bool repeats = thread.messages().contains(storedId(textOf(last, "id"), endpoint.takesTexts()));
    if (endpoint.takesTexts()) return {Operation::start, textStart(last), repeats};
    return {Operation::start, graphStart(request, endpoint, thread), repeats};
}

}  // namespace stategraph::serve
