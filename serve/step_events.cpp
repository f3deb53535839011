#include <map>
#include <set>
#include <string>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/serve/protocol.hpp>

#include "serve/told.hpp"

namespace stategraph::serve {

namespace {

namespace json = boost::json;

// The schema of the lines that are written below.
constexpr const char* step_line_schema = R"({"oneOf":[
{"type":"object","properties":{"event":{"const":"text-chunk"},"stepName":{"type":"string"},"text":{"type":"string"}},
 "required":["event","stepName","text"],"additionalProperties":false},
{"type":"object","properties":{"event":{"const":"tool-call"},"stepName":{"type":"string"},"toolName":{"type":"string"},
 "text":{"type":"string"}},"required":["event","stepName","toolName","text"],"additionalProperties":false},
{"type":"object","properties":{"event":{"const":"tool-call-approval"},"stepName":{"type":"string"},
 "interruptId":{"type":"string"},"toolCallId":{"type":"string"},"toolName":{"type":"string"},"args":{}},
 "required":["event","stepName","interruptId","toolCallId","toolName","args"],"additionalProperties":false},
{"type":"object","properties":{"event":{"const":"question"},"stepName":{"type":"string"},
 "interruptId":{"type":"string"},"node":{"type":"string"},"kind":{"type":"string"},"text":{"type":"string"},"value":{}},
 "required":["event","stepName","interruptId","node","kind","text","value"],"additionalProperties":false},
{"type":"object","properties":{"event":{"const":"error"},"message":{"type":"string"}},
 "required":["event","message"],"additionalProperties":false},
{"type":"object","properties":{"event":{"const":"finish"},"status":{"type":"string"}},
 "required":["event","status"],"additionalProperties":false}]})";

class StepEvents final : public Encoder {
public:
    explicit StepEvents(const StepEventsOptions& options) : options_(options) {}

    void take(const HubEvent& event, std::vector<std::string>& lines) override {
        if (const auto piece = pieceIn(event)) {
            graphs_.note(event);
            written_[piece->id] = piece->attempt;
            takeText(piece->text, event, lines);
            for (const json::object& part : piece->provider) takeProviderPart(part, event, lines);
            return;
        }
        takeMessages(event, lines);
        if (!options_.approvals) return;
        for (const ToldQuestion& question : questions_.newIn(event)) {
            if (!question.isOfCall()) {
                takeQuestion(question, lines);
                continue;
            }
            tell({{"event", "tool-call-approval"},
                  {"stepName", question.step},
                  {"interruptId", question.interrupt_id},
                  {"toolCallId", question.call_id},
                  {"toolName", question.tool},
                  {"args", question.arguments}},
                 lines);
        }
    }

    void close(const Closing& closing, std::vector<std::string>& lines) override {
        if (!closing.error.empty()) tell({{"event", "error"}, {"message", closing.error}}, lines);
        tell({{"event", "finish"}, {"status", toString(closing.ending)}}, lines);
    }

private:
    void takeMessages(const HubEvent& event, std::vector<std::string>& lines) {
        if (const auto message = graphs_.wholeIn(event)) takeWhole(*message, event, lines);
        for (const json::object& message : graphs_.writtenIn(event)) {
            for (const json::object& part : providerPartsIn(message)) takeProviderPart(part, event, lines);
            const json::value* const calls = message.if_contains("calls");
            if (textOf(message, "role") == "amend") continue;  // the call was reported
            if (calls == nullptr || !calls->is_array()) continue;
            for (const json::value& call : calls->get_array()) {
                if (call.is_object()) takeCall(call.get_object(), event, lines);
            }
        }
    }
    static void takeQuestion(const ToldQuestion& question, std::vector<std::string>& lines) {
        tell({{"event", "question"},
              {"stepName", question.step},
              {"interruptId", question.interrupt_id},
              {"node", question.node},
              {"kind", question.kind},
              {"text", question.text},
              {"value", question.value}},
             lines);
    }
    static void takeText(const std::string& text, const HubEvent& event, std::vector<std::string>& lines) {
        if (text.empty()) return;
        tell({{"event", "text-chunk"}, {"stepName", stepOf(event)}, {"text", text}}, lines);
    }
    /// Reports the text of an answer that came without pieces.
    void takeWhole(const json::object& message, const HubEvent& event, std::vector<std::string>& lines) {
        if (textOf(message, "role") != "assistant") return;
        const auto [known, is_new] = written_.try_emplace(textOf(message, "id"), event.attempt);
        if (!is_new && known->second >= event.attempt) return;
        known->second = event.attempt;
        for (const json::object& part : partsIn(message)) {
            if (textOf(part, "type") == "text") takeText(textOf(part, "text"), event, lines);
        }
    }
    void takeCall(const json::object& call, const HubEvent& event, std::vector<std::string>& lines) const {
        const auto chosen = options_.tools.find(textOf(call, "name"));
        if (chosen == options_.tools.end()) return;
        tell({{"event", "tool-call"},
              {"stepName", stepOf(event)},
              {"toolName", chosen->second},
              {"text", textOf(call, "arguments")}},
             lines);
    }
    void takeProviderPart(const json::object& given, const HubEvent& event, std::vector<std::string>& lines) {
        const ToldProviderPart part(given);
        const auto chosen = options_.tools.find(part.tool);
        if (part.kind != "call" || chosen == options_.tools.end()) return;
        if (!provider_calls_.insert(part.call_id).second) return;  // it was reported when the call was made
        tell({{"event", "tool-call"},
              {"stepName", stepOf(event)},
              {"toolName", chosen->second},
              {"text", stategraph::detail::jsonText(part.arguments)}},
             lines);
    }
    static void tell(const json::object& line, std::vector<std::string>& lines) {
        lines.push_back(stategraph::detail::jsonText(line));
    }

    StepEventsOptions options_;
    MessageGraphs graphs_;
    Questions questions_;
    std::set<std::string> provider_calls_;
    std::map<std::string, int> written_;  // the attempts whose texts were reported, by the messages' ids
};

}  // namespace

Protocol stepEvents(StepEventsOptions options) {
    return {.name = "steps",
            .encoder = [options = std::move(options)] { return std::make_unique<StepEvents>(options); },
            .modes = {StreamMode::updates, StreamMode::messages, StreamMode::runs},
            .line_schema = step_line_schema};
}

}  // namespace stategraph::serve
