#include <set>
#include <vector>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/serve/protocol.hpp>

#include "serve/told.hpp"

namespace stategraph::serve {

namespace {

namespace json = boost::json;

/// Returns whether it is the result of a declined call, in the form that agents write.
bool isDeclined(const json::object& result) {
    const json::value* const is_error = result.if_contains("is_error");
    return is_error != nullptr && is_error->is_bool() && is_error->get_bool() &&
           textOf(result, "output").starts_with("Error: The call was not approved");
}

// The schema of the lines that are written below.
constexpr const char* ui_line_schema = R"({"oneOf":[
{"type":"object","properties":{"type":{"const":"start"}},
 "required":["type"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"start-step"}},
 "required":["type"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"finish-step"}},
 "required":["type"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"abort"}},
 "required":["type"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"text-start"},"id":{"type":"string"}},
 "required":["type","id"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"text-delta"},"id":{"type":"string"},"delta":{"type":"string"}},
 "required":["type","id","delta"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"text-end"},"id":{"type":"string"}},
 "required":["type","id"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"reasoning-start"},"id":{"type":"string"}},
 "required":["type","id"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"reasoning-delta"},"id":{"type":"string"},"delta":{"type":"string"}},
 "required":["type","id","delta"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"reasoning-end"},"id":{"type":"string"}},
 "required":["type","id"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"tool-input-start"},"toolCallId":{"type":"string"},
 "toolName":{"type":"string"},"dynamic":{"const":true}},
 "required":["type","toolCallId","toolName","dynamic"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"tool-input-delta"},"toolCallId":{"type":"string"},
 "inputTextDelta":{"type":"string"}},
 "required":["type","toolCallId","inputTextDelta"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"tool-input-available"},"toolCallId":{"type":"string"},
 "toolName":{"type":"string"},"input":{},"dynamic":{"const":true},"providerExecuted":{"const":true}},
 "required":["type","toolCallId","toolName","input","dynamic"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"tool-output-available"},"toolCallId":{"type":"string"},"output":{},
 "dynamic":{"const":true},"providerExecuted":{"const":true}},
 "required":["type","toolCallId","output","dynamic"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"source-url"},"sourceId":{"type":"string"},"url":{"type":"string"},
 "title":{"type":"string"}},"required":["type","sourceId","url"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"tool-output-error"},"toolCallId":{"type":"string"},
 "errorText":{"type":"string"},"dynamic":{"const":true}},
 "required":["type","toolCallId","errorText","dynamic"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"tool-output-denied"},"toolCallId":{"type":"string"}},
 "required":["type","toolCallId"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"tool-approval-request"},"approvalId":{"type":"string"},
 "toolCallId":{"type":"string"}},
 "required":["type","approvalId","toolCallId"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"data-question"},"id":{"type":"string"},"data":{}},
 "required":["type","id","data"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"data-custom"},"data":{},"transient":{"const":true}},
 "required":["type","data","transient"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"error"},"errorText":{"type":"string"}},
 "required":["type","errorText"],"additionalProperties":false},
{"type":"object","properties":{"type":{"const":"finish"},"messageMetadata":{"type":"object",
 "properties":{"status":{"type":"string"}},"required":["status"],"additionalProperties":false}},
 "required":["type","messageMetadata"],"additionalProperties":false}]})";

/// Writes one response as parts of the AI SDK's UI message stream. Parts refer to each other: a text begins, grows and
/// ends under one id.
class UiMessages final : public Encoder {
public:
    void open(std::vector<std::string>& lines) override { tell({{"type", "start"}}, lines); }

    void take(const HubEvent& event, std::vector<std::string>& lines) override {
        if (const auto piece = pieceIn(event)) {
            takePiece(*piece, lines);
            return;
        }
        // A result is reported as soon as it exists, and again when its superstep ends, which is after all its other
        // calls were answered.
        if (event.mode == StreamMode::messages) takeWhole(event, lines);
        for (const json::object& message : messagesIn(event)) takeMessage(message, lines);
        for (const ToldQuestion& question : questions_.newIn(event)) takeQuestion(question, lines);
        if (event.mode == StreamMode::custom) {
            tell({{"type", "data-custom"}, {"data", dataOf(event)}, {"transient", true}}, lines);
        }
    }

    void close(const Closing& closing, std::vector<std::string>& lines) override {
        endStep(lines);
        if (closing.ending == Ending::cancelled) {
            tell({{"type", "abort"}}, lines);
        } else if (!closing.error.empty()) {
            tell({{"type", "error"}, {"errorText", closing.error}}, lines);
        }
        tell({{"type", "finish"}, {"messageMetadata", {{"status", toString(closing.ending)}}}}, lines);
    }

private:
    static void tell(const json::object& line, std::vector<std::string>& lines) {
        lines.push_back(stategraph::detail::jsonText(line));
    }

    void beginStep(const std::string& message, std::vector<std::string>& lines) {
        if (message_ == message && in_step_) return;
        endStep(lines);
        message_ = message;
        in_step_ = true;
        tell({{"type", "start-step"}}, lines);
    }
    void endStep(std::vector<std::string>& lines) {
        endPart(lines);
        if (in_step_) tell({{"type", "finish-step"}}, lines);
        in_step_ = false;
    }
    /// Adds to a text or a reasoning, of which one is open at a time.
    void grow(const char* kind, const std::string& id, const std::string& text, std::vector<std::string>& lines) {
        const std::string part = std::string(kind) + "-" + id;
        if (open_part_ != part) {
            endPart(lines);
            open_part_ = part;
            open_kind_ = kind;
            tell({{"type", open_kind_ + "-start"}, {"id", part}}, lines);
        }
        tell({{"type", open_kind_ + "-delta"}, {"id", part}, {"delta", text}}, lines);
    }
    void endPart(std::vector<std::string>& lines) {
        if (!open_part_.empty()) tell({{"type", open_kind_ + "-end"}, {"id", open_part_}}, lines);
        open_part_.clear();
    }

    void takePiece(const ToldPiece& piece, std::vector<std::string>& lines) {
        beginStep(piece.id, lines);
        if (!piece.reasoning.empty()) grow("reasoning", piece.id, piece.reasoning, lines);
        if (!piece.text.empty()) grow("text", piece.id, piece.text, lines);
        for (const ToldPiece::Call& call : piece.calls) {
            endPart(lines);
            if (begun_.insert(call.id).second) {
                tell(
                    {{"type", "tool-input-start"}, {"toolCallId", call.id}, {"toolName", call.name}, {"dynamic", true}},
                    lines);
            }
            if (!call.arguments.empty()) {
                tell({{"type", "tool-input-delta"}, {"toolCallId", call.id}, {"inputTextDelta", call.arguments}},
                     lines);
            }
        }
        for (const json::object& part : piece.provider) takeProviderPart(part, lines);
    }

    /// Reports what a tool of the provider did. It is reported once, immediately or with the whole message.
    void takeProviderPart(const json::object& given, std::vector<std::string>& lines) {
        const ToldProviderPart part(given);
        json::object line;
        if (part.kind == "call" && known_.insert(part.call_id).second) {
            line = {{"type", "tool-input-available"},
                    {"toolCallId", part.call_id},
                    {"toolName", part.tool},
                    {"input", part.arguments},
                    {"dynamic", true},
                    {"providerExecuted", true}};
        } else if (part.kind == "result" && known_.contains(part.call_id) && answered_.insert(part.call_id).second) {
            line = {{"type", "tool-output-available"},
                    {"toolCallId", part.call_id},
                    {"output", part.output},
                    {"dynamic", true},
                    {"providerExecuted", true}};
        } else if (part.kind == "source" && !part.url.empty() && sources_.insert(part.url).second) {
            line = {{"type", "source-url"}, {"sourceId", part.url}, {"url", part.url}};
            if (!part.title.empty()) line["title"] = part.title;
        }
        if (line.empty()) return;
        endPart(lines);
        tell(line, lines);
    }

    void takeWhole(const HubEvent& event, std::vector<std::string>& lines) {
        const json::value data = dataOf(event);
        const json::object* const told = data.if_object();
        const json::value* const found = told != nullptr ? told->if_contains("message") : nullptr;
        const json::object* const message = found != nullptr ? found->if_object() : nullptr;
        if (message != nullptr && textOf(*message, "role") == "tool") takeResult(*message, lines);
    }
    void takeMessage(const json::object& message, std::vector<std::string>& lines) {
        if (textOf(message, "role") == "tool") {
            takeResult(message, lines);
            return;
        }
        const std::vector<json::object> provider = providerPartsIn(message);
        const json::value* const found = message.if_contains("calls");
        const json::array* const calls = found != nullptr ? found->if_array() : nullptr;
        const bool has_calls = calls != nullptr && !calls->empty();
        if (!has_calls && provider.empty()) return;
        beginStep(textOf(message, "id"), lines);
        endPart(lines);
        for (const json::object& part : provider) takeProviderPart(part, lines);
        if (!has_calls) return;
        for (const json::value& each : *calls) {
            if (each.is_object())
                takeCall(textOf(each.get_object(), "id"), textOf(each.get_object(), "name"),
                         argumentsOf(each.get_object()), lines);
        }
    }
    static json::value argumentsOf(const json::object& call) {
        boost::system::error_code broken;
        json::value arguments = parsedText(textOf(call, "arguments"), broken);
        return broken ? json::value(json::object()) : arguments;
    }
    void takeCall(const std::string& id, const std::string& tool, const json::value& input,
                  std::vector<std::string>& lines) {
        if (!known_.insert(id).second) return;
        tell({{"type", "tool-input-available"},
              {"toolCallId", id},
              {"toolName", tool},
              {"input", input},
              {"dynamic", true}},
             lines);
    }
    void takeResult(const json::object& message, std::vector<std::string>& lines) {
        const json::value* const found = message.if_contains("result");
        const json::object* const result = found != nullptr ? found->if_object() : nullptr;
        if (result == nullptr) return;
        const std::string id = textOf(*result, "call_id");
        if (!answered_.insert(id).second) return;
        // Used for a response that began after the call: the client knows the call from an earlier response, or
        // receives it here.
        const json::value* const is_error = result->if_contains("is_error");
        const json::value* const output = result->if_contains("output");
        if (isDeclined(*result)) {
            tell({{"type", "tool-output-denied"}, {"toolCallId", id}}, lines);
        } else if (is_error != nullptr && is_error->is_bool() && is_error->get_bool()) {
            tell({{"type", "tool-output-error"},
                  {"toolCallId", id},
                  {"errorText", textOf(*result, "output")},
                  {"dynamic", true}},
                 lines);
        } else {
            tell({{"type", "tool-output-available"},
                  {"toolCallId", id},
                  {"output", output != nullptr ? *output : json::value()},
                  {"dynamic", true}},
                 lines);
        }
    }
    void takeQuestion(const ToldQuestion& question, std::vector<std::string>& lines) {
        if (question.type.empty()) {
            tell({{"type", "data-question"}, {"id", question.interrupt_id}, {"data", question.value}}, lines);
            return;
        }
        takeCall(question.call_id, question.tool, question.arguments, lines);
        if (question.type != "tool-approval") return;
        tell({{"type", "tool-approval-request"},
              {"approvalId", question.interrupt_id},
              {"toolCallId", question.call_id}},
             lines);
    }

    std::string message_;
    bool in_step_ = false;
    std::string open_part_;
    std::string open_kind_;
    std::set<std::string> begun_, known_, answered_;  // ids of calls
    std::set<std::string> sources_;                   // addresses of sources
    Questions questions_;
};

}  // namespace

Protocol uiMessages() {
    Protocol protocol;
    protocol.name = "ui";
    protocol.encoder = [] { return std::make_unique<UiMessages>(); };
    protocol.modes = {StreamMode::updates, StreamMode::messages, StreamMode::custom, StreamMode::runs};
    protocol.headers = {{"x-vercel-ai-ui-message-stream", "v1"}};
    protocol.last_data = "[DONE]";
    protocol.only_sse = true;
    protocol.line_schema = ui_line_schema;
    return protocol;
}

}  // namespace stategraph::serve
