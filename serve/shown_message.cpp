#include "serve/shown_message.hpp"

#include <string_view>

#include <stategraph/detail/json_text.hpp>

#include "serve/told.hpp"

namespace stategraph::serve {

namespace json = boost::json;

namespace {

/// Writes the parts of one message.
class Parts {
public:
    explicit Parts(std::vector<std::string>& lines) : lines_(lines) {}

    void tell(const json::object& line) { lines_.push_back(stategraph::detail::jsonText(line)); }
    void take(const json::object& part) {
        const std::string type = textOf(part, "type");
        if (type == "step-start") {
            tell({{"type", "start-step"}});
        } else if (type == "text" || type == "reasoning") {
            takeText(type, textOf(part, "text"));
        } else if (type == "file") {
            tell({{"type", type}, {"mediaType", textOf(part, "mediaType")}, {"url", textOf(part, "url")}});
        } else if (type == "source-url") {
            takeSource(part);
        } else if (type == "data-question") {
            tell({{"type", type}, {"id", textOf(part, "id")}, {"data", valueOf(part, "data")}});
        } else if (type == "dynamic-tool") {
            takeCall(part, textOf(part, "toolName"), true);
        } else if (constexpr std::string_view named = "tool-"; type.starts_with(named)) {
            takeCall(part, type.substr(named.size()), false);
        }
    }

private:
    static json::value valueOf(const json::object& object, std::string_view member) {
        const json::value* const found = object.if_contains(member);
        return found != nullptr ? *found : json::value();
    }
    void takeText(const std::string& type, const std::string& text) {
        const std::string id = type + "-shown-" + std::to_string(texts_++);
        tell({{"type", type + "-start"}, {"id", id}});
        tell({{"type", type + "-delta"}, {"id", id}, {"delta", text}});
        tell({{"type", type + "-end"}, {"id", id}});
    }
    void takeSource(const json::object& part) {
        json::object line{{"type", "source-url"}, {"sourceId", textOf(part, "sourceId")}, {"url", textOf(part, "url")}};
        if (const std::string title = textOf(part, "title"); !title.empty()) line["title"] = title;
        tell(line);
    }
    /// A page executes its own tool when it receives `tool-input-available`, so a call that is settled is written in
    /// pieces, unless it needed an approval and is therefore not of the page's tools.
    void takeCall(const json::object& part, const std::string& tool, bool is_dynamic) {
        const std::string id = textOf(part, "toolCallId");
        const json::value approval = valueOf(part, "approval");
        const bool is_providers = valueOf(part, "providerExecuted") == json::value(true);
        if (textOf(part, "state") == "input-available" || approval.is_object()) {
            json::object line{{"type", "tool-input-available"},
                              {"toolCallId", id},
                              {"toolName", tool},
                              {"input", valueOf(part, "input")}};
            if (is_dynamic) line["dynamic"] = true;
            if (is_providers) line["providerExecuted"] = true;
            tell(line);
        } else {
            json::object line{{"type", "tool-input-start"}, {"toolCallId", id}, {"toolName", tool}};
            if (is_dynamic) line["dynamic"] = true;
            tell(line);
            tell({{"type", "tool-input-delta"},
                  {"toolCallId", id},
                  {"inputTextDelta", stategraph::detail::jsonText(valueOf(part, "input"))}});
        }
        if (approval.is_object()) takeApproval(approval.get_object(), id);
        takeResult(part, id, is_dynamic, is_providers);
    }
    void takeResult(const json::object& part, const std::string& id, bool is_dynamic, bool is_providers) {
        const std::string state = textOf(part, "state");
        if (state == "output-denied") return tell({{"type", "tool-output-denied"}, {"toolCallId", id}});
        if (state != "output-available" && state != "output-error") return;
        json::object line{{"type", "tool-" + state}, {"toolCallId", id}};
        if (is_dynamic) line["dynamic"] = true;
        if (is_providers) line["providerExecuted"] = true;
        if (state == "output-error") {
            line["errorText"] = textOf(part, "errorText");
        } else {
            line["output"] = valueOf(part, "output");
        }
        tell(line);
    }
    void takeApproval(const json::object& approval, const std::string& call) {
        const std::string id = textOf(approval, "id");
        tell({{"type", "tool-approval-request"}, {"approvalId", id}, {"toolCallId", call}});
        const json::value approved = valueOf(approval, "approved");
        if (!approved.is_bool()) return;
        json::object line{{"type", "tool-approval-response"}, {"approvalId", id}, {"approved", approved}};
        if (const std::string reason = textOf(approval, "reason"); !reason.empty()) line["reason"] = reason;
        tell(line);
    }

    std::vector<std::string>& lines_;
    std::size_t texts_ = 0;
};

}  // namespace

std::vector<std::string> linesOf(const json::object& message) {
    std::vector<std::string> lines;
    Parts parts(lines);
    json::object start{{"type", "start"}};
    if (const std::string id = textOf(message, "id"); !id.empty()) start["messageId"] = id;
    parts.tell(start);
    const json::value* const found = message.if_contains("parts");
    const json::array* const list = found != nullptr ? found->if_array() : nullptr;
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
        if (const json::object* const part = (*list)[i].if_object()) parts.take(*part);
    }
    return lines;
}

std::vector<ShownCall> callsIn(const json::object& message) {
    std::vector<ShownCall> calls;
    const json::array* const parts = listIn(message, "parts");
    for (std::size_t i = 0; parts != nullptr && i < parts->size(); ++i) {
        const json::object* const part = (*parts)[i].if_object();
        if (part == nullptr) continue;
        const std::string type = textOf(*part, "type");
        const std::string state = textOf(*part, "state");
        const bool is_call = type == "dynamic-tool" || type.starts_with("tool-");
        if (is_call && state != "input-streaming")
            calls.push_back({.id = textOf(*part, "toolCallId"), .is_asked = state == "approval-requested"});
    }
    return calls;
}

}  // namespace stategraph::serve
