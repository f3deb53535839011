#include "mcp/server/question.hpp"

#include <utility>

#include <stategraph/agent/state.hpp>
#include <stategraph/detail/json_reading.hpp>
#include <stategraph/detail/json_text.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "mcp/message.hpp"

namespace stategraph::mcp::detail {

namespace json = boost::json;

namespace {

constexpr std::size_t message_max = 16U << 10U;  // of a question
constexpr const char* only_member = "answer";    // of an answer that is no object

json::object schemaOf(const ServedQuestion& question) {
    const json::value read = stategraph::detail::readJson(question.schema, 64).value;
    return read.is_object() ? read.get_object() : json::object();
}

/// Whether an answer is an object of the question's, and not one value in an object of ours.
bool isObject(const json::object& schema) {
    const json::value* const type = schema.if_contains("type");
    return type != nullptr && *type == "object";
}

ServedQuestion askPlainly(const Interrupt& question) {
    const json::value value = toJsonValue(question.value);
    if (const json::string* const text = value.if_string()) return {.message = std::string(*text)};
    ServedQuestion asked{.message = stategraph::detail::jsonText(value)};
    const json::object* const object = value.if_object();
    if (object == nullptr) return asked;
    if (std::string message = stringOf(*object, "message"); !message.empty()) asked.message = std::move(message);
    if (const json::object* const schema = objectIn(*object, "schema"))
        asked.schema = stategraph::detail::jsonText(*schema);
    return asked;
}

}  // namespace

ServedQuestion askAboutCall(const Interrupt& question) {
    agent::ApprovalRequest call;
    try {
        const auto read = question.value.as<agent::Question>();
        if (!std::holds_alternative<agent::ApprovalRequest>(read)) return askPlainly(question);
        call = std::get<agent::ApprovalRequest>(read);
    } catch (const WrongTypeError&) {
        return askPlainly(question);
    }
    return {.message = "May " + call.tool + " be called with " + call.arguments.toJson() + "?",
            .schema = R"({"type":"object","properties":{"approved":{"type":"boolean","title":"Approve the call"},)"
                      R"("reason":{"type":"string","title":"Why"}},"required":["approved"]})",
            .declined = Value(agent::Decision{.approved = false})};
}

ServedQuestion asked(const ServedTool& tool, const Interrupt& question) {
    const AskQuestion& ask = tool.options().ask;
    ServedQuestion made = ask ? ask(question) : askPlainly(question);
    if (made.message.size() > message_max)
        made.message = std::string(stategraph::detail::beginningOf(made.message, message_max)) + "…";
    return made;
}

json::object elicitationOf(const ServedQuestion& question) {
    json::object schema = schemaOf(question);
    if (!isObject(schema)) {
        json::object properties;
        properties[only_member] = std::move(schema);
        schema = {{"type", "object"}, {"properties", std::move(properties)}, {"required", json::array{only_member}}};
    }
    return {{"mode", "form"}, {"message", question.message}, {"requestedSchema", std::move(schema)}};
}

std::optional<Value> answerIn(const json::object& result, const ServedQuestion& question) {
    if (stringOf(result, "action") != "accept") return question.declined;
    const json::object* const content = objectIn(result, "content");
    if (content == nullptr) throw InvalidArgumentError("the client accepted the question and gave no content");
    if (isObject(schemaOf(question))) return fromJson(json::value(*content));
    const json::value* const only = content->if_contains(only_member);
    if (only == nullptr)
        throw InvalidArgumentError(std::string("the answer to the question lacks the member \"") + only_member + "\"");
    return fromJson(*only);
}

}  // namespace stategraph::mcp::detail
