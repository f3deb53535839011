#include "serve/told.hpp"

#include <initializer_list>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/detail/json_text.hpp>
#include <stategraph/json.hpp>

namespace stategraph::serve {

namespace json = boost::json;

std::string stepOf(const StreamEvent& event) {
    if (event.ns.empty()) return event.node;
    return event.ns.front().substr(0, event.ns.front().find(':'));
}

std::string textOf(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

const json::array* listIn(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    return found != nullptr ? found->if_array() : nullptr;
}

std::vector<const json::object*> messagesWritten(const json::value& written) {
    std::vector<const json::object*> messages;
    const auto take = [&](const json::array& list) {
        for (const json::value& each : list) {
            if (each.is_object()) messages.push_back(&each.get_object());
        }
    };
    if (written.is_array()) {
        take(written.get_array());
    } else if (written.is_object()) {
        const json::object& object = written.get_object();
        const json::array* const several = object.size() == 1 ? listIn(object, "$writes") : nullptr;
        if (several == nullptr) messages.push_back(&object);
        for (std::size_t i = 0; several != nullptr && i < several->size(); ++i) {
            const json::value& each = (*several)[i];
            if (each.is_array()) take(each.get_array());
            if (each.is_object()) messages.push_back(&each.get_object());
        }
    }
    return messages;
}

namespace {

/// Returns the first of these members that there is, or null: Anthropic's, OpenAI's and Gemini's names for one thing.
const json::value* anyOf(const json::object& data, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        if (const json::value* const found = data.if_contains(name)) return found;
    }
    return nullptr;
}

/// Returns whether the tool failed. Anthropic says so in the content, and for tools of MCP servers in a member.
bool isFailure(const json::object& data) {
    const json::value* const is_error = data.if_contains("is_error");
    if (is_error != nullptr && is_error->is_bool()) return is_error->get_bool();
    if (textOf(data, "status") == "failed") return true;                     // of OpenAI's tools
    const json::value* const ran = data.if_contains("codeExecutionResult");  // of Gemini
    if (ran != nullptr && ran->is_object()) return textOf(ran->get_object(), "outcome") != "OUTCOME_OK";
    const json::value* const content = data.if_contains("content");
    return content != nullptr && content->is_object() && textOf(content->get_object(), "type").ends_with("_error");
}

/// Returns the source itself, which OpenAI's format has in a member.
const json::object& sourceIn(const json::object& data) {
    const json::value* const found = data.if_contains("url_citation");
    return found != nullptr && found->is_object() ? found->get_object() : data;
}

}  // namespace

ToldProviderPart::ToldProviderPart(const json::object& part)
    : kind(textOf(part, "kind")), call_id(textOf(part, "call_id")), tool(textOf(part, "name")) {
    boost::system::error_code broken;
    json::value parsed = parsedText(textOf(part, "data"), broken);
    if (!broken && parsed.is_object()) data = std::move(parsed.get_object());
    const json::value* const input = anyOf(data, {"input", "action", "executableCode", "toolCall"});
    arguments = input != nullptr ? *input : json::value(json::object());
    const json::value* const content = anyOf(data, {"content", "codeExecutionResult", "toolResponse"});
    output = content != nullptr ? *content : json::value(data);
    is_error = isFailure(data);
    url = textOf(sourceIn(data), "url");
    title = textOf(sourceIn(data), "title");
}

ToldResult::ToldResult(const json::object& result) : call_id(textOf(result, "call_id")) {
    if (const json::value* const given = result.if_contains("output")) output = *given;
    const json::value* const failed = result.if_contains("is_error");
    is_error = failed != nullptr && failed->is_bool() && failed->get_bool();
    const std::string text = textOf(result, "output");
    is_declined = is_error && (text == "Error: The call was not approved." ||
                               text.starts_with("Error: The call was not approved: "));
}

std::string errorTextOf(const json::value& output) {
    return output.is_string() ? std::string(output.get_string()) : stategraph::detail::jsonText(output);
}

std::vector<json::object> partsIn(const json::object& message) {
    std::vector<json::object> parts;
    if (std::string text = textOf(message, "content"); !text.empty())
        parts.push_back({{"type", "text"}, {"text", std::move(text)}});
    const json::array* const content = listIn(message, "content");
    if (content == nullptr) return parts;
    for (const json::value& each : *content) {
        if (each.is_object()) parts.push_back(each.get_object());
    }
    return parts;
}

std::vector<json::object> providerPartsIn(const json::object& message) {
    std::vector<json::object> parts = partsIn(message);
    std::erase_if(parts, [](const json::object& part) {
        const std::string kind = textOf(part, "kind");
        return textOf(part, "type") != "provider" || kind == "metadata" || kind == "options";
    });
    return parts;
}

std::optional<ToldPiece> pieceIn(const StreamEvent& event) {
    if (event.mode != StreamMode::messages) return {};
    const json::value data = toJsonValue(event.data);
    const json::object* const told = data.if_object();
    const json::value* const delta = told != nullptr ? told->if_contains("delta") : nullptr;
    if (delta == nullptr || !delta->is_bool() || !delta->get_bool()) return {};
    const json::value* const found = told->if_contains("message");
    const json::object* const message = found != nullptr ? found->if_object() : nullptr;
    if (message == nullptr) return {};
    ToldPiece piece;
    piece.id = textOf(*message, "id");
    const json::value* const attempt = told->if_contains("attempt");
    if (attempt != nullptr && attempt->is_int64()) piece.attempt = static_cast<int>(attempt->get_int64());
    piece.text = textOf(*message, "content");
    piece.reasoning = textOf(*message, "reasoning");
    if (const json::array* const calls = listIn(*message, "calls")) {
        for (const json::value& each : *calls) {
            const json::object* const call = each.if_object();
            if (call != nullptr)
                piece.calls.push_back({textOf(*call, "id"), textOf(*call, "name"), textOf(*call, "arguments")});
        }
    }
    if (const json::array* const parts = listIn(*message, "provider")) {
        for (const json::value& each : *parts) {
            if (each.is_object()) piece.provider.push_back(each.get_object());
        }
    }
    return piece;
}

namespace {

/// Returns a node's name with the namespaces around it.
std::string nodeOf(const StreamEvent& event) {
    std::string node;
    for (const std::string& level : event.ns) node += level + "/";
    return node + event.node;
}

}  // namespace

void MessageGraphs::note(const StreamEvent& event) {
    std::string around;
    for (const std::string& level : event.ns) {
        // A graph that a node calls is "node:task:key". What it writes is not what its node writes.
        const std::size_t colon = level.find(':');
        if (level.find(':', colon + 1) == std::string::npos) graphs_.insert(around + level.substr(0, colon));
        around += level + "/";
    }
}

std::optional<json::object> MessageGraphs::wholeIn(const StreamEvent& event) {
    if (event.mode != StreamMode::messages) return {};
    json::value data = dataOf(event);
    json::object* const told = data.if_object();
    const json::value* const delta = told != nullptr ? told->if_contains("delta") : nullptr;
    if (delta == nullptr || *delta != json::value(false)) return {};
    json::value* const message = told->if_contains("message");
    if (message == nullptr || !message->is_object()) return {};
    note(event);
    wholes_[nodeOf(event)].insert(textOf(message->get_object(), "id"));
    return std::move(message->get_object());
}

std::vector<json::object> MessageGraphs::writtenIn(const StreamEvent& event) {
    std::vector<json::object> messages;
    if (event.mode != StreamMode::updates) return messages;
    const json::value data = toJsonValue(event.data);
    const json::object* const all = data.if_object();
    const json::value* const task = all != nullptr ? all->if_contains(event.node) : nullptr;
    const json::object* const written = task != nullptr ? task->if_object() : nullptr;
    const json::value* const found = written != nullptr ? written->if_contains("messages") : nullptr;
    if (found == nullptr) return messages;
    const std::string node = nodeOf(event);
    const bool is_graph = graphs_.contains(node);
    const Ids& own = wholes_[node];
    for (const json::object* const message : messagesWritten(*found)) {
        if (!is_graph || own.contains(textOf(*message, "id"))) messages.push_back(*message);
    }
    if (!messages.empty()) note(event);
    return messages;
}

namespace {

/// Returns the text of a question that is a text, or has one among its members.
std::string textIn(const json::value& question) {
    if (question.is_string()) return std::string(question.get_string());
    const json::object* const object = question.if_object();
    for (const char* const member : {"question", "text", "message", "prompt"}) {
        std::string text = object != nullptr ? textOf(*object, member) : std::string();
        if (!text.empty()) return text;
    }
    return {};
}

ToldQuestion questionOf(const Interrupt& open, const StreamEvent& event) {
    ToldQuestion question;
    question.interrupt_id = open.id.toString();
    question.step = stepOf(event);
    question.node = event.node;
    question.kind = open.key.empty() ? "question" : open.key;
    question.value = toJsonValue(open.value);
    if (const json::object* const asked = question.value.if_object()) {
        const bool is_step =
            asked->size() == 3 && asked->contains("step") && asked->contains("payload") && asked->contains("labels");
        if (const std::string type = textOf(*asked, "type"); type.starts_with("tool-")) {
            question.kind = type;
            question.call_id = textOf(*asked, "call_id");
            question.tool = textOf(*asked, "tool");
            if (const json::value* const arguments = asked->if_contains("arguments")) question.arguments = *arguments;
        } else if (asked->contains("effect") && asked->contains("idempotency_key")) {
            question.kind = "effect-doubt";
        } else if (is_step) {
            question.kind = "step";
            question.step = question.node = open.key;
            const json::value payload = asked->at("payload");
            question.value = payload;
        }
        if (question.node.empty()) question.node = textOf(*asked, "node");
    }
    if (question.step.empty()) question.step = question.node.empty() ? question.tool : question.node;
    question.text = textIn(question.value);
    return question;
}

}  // namespace

std::vector<ToldQuestion> Questions::newIn(const StreamEvent& event) {
    std::vector<ToldQuestion> questions;
    for (const Interrupt& open : event.interrupts) {
        if (told_.emplace(open.id, open.index).second) questions.push_back(questionOf(open, event));
    }
    return questions;
}

std::vector<StreamEvent> openIn(const json::object& state) {
    std::vector<StreamEvent> open;
    const json::array* const tasks = listIn(state, "tasks");
    for (std::size_t i = 0; tasks != nullptr && i < tasks->size(); ++i) {
        const json::object* const task = (*tasks)[i].if_object();
        const json::array* const asked = task != nullptr ? listIn(*task, "interrupts") : nullptr;
        for (std::size_t k = 0; asked != nullptr && k < asked->size(); ++k) {
            const json::object* const question = (*asked)[k].if_object();
            const json::value* const answered = question != nullptr ? question->if_contains("answered") : nullptr;
            if (question == nullptr || (answered != nullptr && *answered == json::value(true))) continue;
            const json::value* const value = question->if_contains("value");
            StreamEvent event;
            event.mode = StreamMode::updates;
            event.node = textOf(*task, "name");
            event.interrupts.push_back({.id = TaskId(textOf(*question, "id")),
                                        .value = value != nullptr ? fromJson(*value) : Value(),
                                        .key = textOf(*question, "key")});
            open.push_back(std::move(event));
        }
    }
    return open;
}

std::vector<ToldQuestion> questionsOf(const json::object& state) {
    std::vector<ToldQuestion> open;
    for (const StreamEvent& event : openIn(state)) open.push_back(questionOf(event.interrupts.front(), event));
    return open;
}

json::value parsedText(std::string_view text, boost::system::error_code& broken) {
    // What is around a value, such as a checkpoint, adds levels to its own.
    auto read = stategraph::detail::readJson(text, 2 * Decoder::depth_max);
    broken = read.error;
    return std::move(read.value);
}

json::value dataOf(const StreamEvent& event) {
    boost::system::error_code broken;
    return parsedText(event.data.toJson(), broken);
}

}  // namespace stategraph::serve
