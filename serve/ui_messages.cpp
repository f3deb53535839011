#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/serve/protocol.hpp>

#include "serve/account.hpp"
#include "serve/told.hpp"
#include "serve/ui_line_schema.hpp"

namespace stategraph::serve {

namespace {

namespace json = boost::json;

/// Writes one response as parts of the AI SDK's UI message stream. Parts refer to each other: a text begins, grows and
/// ends under one id. The file is longer than others, because all kinds of parts share what the client has been told.
class UiMessages final : public Encoder {
public:
    explicit UiMessages(std::shared_ptr<const UiMessagesOptions> options) : options_(std::move(options)) {}

    void open(const Opening& opening, std::vector<std::string>& lines) override {
        for (const ShownCall& call : opening.shown) {
            known_.insert(call.id);
            shown_[call.id] = call.is_asked;
            if (call.is_answered) answered_.insert(call.id);
        }
        lines = opening.lines;
        if (!lines.empty()) return;
        json::object start{{"type", "start"}};
        if (!opening.message.empty()) start["messageId"] = opening.message;
        tell(start, lines);
    }

    void take(const HubEvent& event, std::vector<std::string>& lines) override {
        if (const auto piece = pieceIn(event)) {
            graphs_.note(event);
            takePiece(*piece, lines);
            return;
        }
        takeMessages(event, lines);
        for (const ToldQuestion& question : questions_.newIn(event)) takeQuestion(question, lines);
        if (event.mode == StreamMode::custom) {
            tell({{"type", "data-custom"}, {"data", dataOf(event)}, {"transient", true}}, lines);
        }
    }

    void close(const Closing& closing, std::vector<std::string>& lines) override {
        endStep(lines);
        // The answer of a run that was drained is not whole: another server goes on with it when it is asked to.
        const bool is_broken_off = closing.ending == Status::cancelled || closing.ending == Status::drained;
        if (is_broken_off) {
            tell({{"type", "abort"}}, lines);
        } else if (!closing.error.empty()) {
            tell({{"type", "error"}, {"errorText", shownError(closing.error)}}, lines);
        }
        json::object finish{{"type", "finish"}};
        if (!closing.error.empty()) finish_reason_ = "error";
        if (!finish_reason_.empty() && !is_broken_off) finish["finishReason"] = finish_reason_;
        finish["messageMetadata"] = endMetadata(closing);
        tell(finish, lines);
    }

private:
    void tell(json::object line, std::vector<std::string>& lines) const {
        if (options_->typed_tools) line.erase("dynamic");
        lines.push_back(stategraph::detail::jsonText(line));
    }
    std::string shownError(const std::string& error) const {
        if (!options_->error_text) return error;
        try {
            return options_->error_text(error);
        } catch (...) {
            return "An error occurred.";
        }
    }

    /// A message that is in the step.
    struct Writing {
        int attempt = 0;        // of the call of the model whose pieces were reported; 0: unknown
        std::string open_part;  // the text or the reasoning that has not ended; empty: none
        std::string open_kind;
        bool is_whole = false;                              // no pieces follow
        std::map<std::string, ToldPiece::Call> calls = {};  // those that have begun, by id
    };

    /// Begins a step for a message, unless it is in the step. A message that is written while another one is, by an
    /// agent that runs at the same time, joins the step, because the texts of a step must end before the next step.
    Writing& beginStep(const std::string& message, int attempt, std::vector<std::string>& lines) {
        const auto known = step_.find(message);
        if (known != step_.end()) {
            noticeAttempt(known->second, attempt, lines);
            return step_[message];
        }
        const bool joins =
            std::any_of(step_.begin(), step_.end(), [](const auto& each) { return !each.second.is_whole; });
        if (!joins) {
            endStep(lines);
            tell({{"type", "start-step"}}, lines);
        }
        Writing& writing = step_[message];
        writing.attempt = attempt;
        return writing;
    }
    /// If the model was called again for a message of which pieces were reported, the client forgets them, if it can,
    /// or has them in a step of their own. The client can only forget a whole step, so pieces of a message that shares
    /// its step stay.
    void noticeAttempt(Writing& writing, int attempt, std::vector<std::string>& lines) {
        const bool is_again = writing.attempt > 0 && attempt > writing.attempt;
        writing.attempt = std::max(writing.attempt, attempt);
        if (!is_again) return;
        if (step_.size() > 1) {
            endPart(writing, lines);
            return;
        }
        if (!options_->resets_steps) {
            endPart(writing, lines);
            tell({{"type", "finish-step"}}, lines);
            tell({{"type", "start-step"}}, lines);
        }
        writing.open_part.clear();
        writing.calls.clear();
        for (const auto& [ids, id] : told_in_step_) {
            const bool is_call = ids == &begun_ || ids == &known_;  // the new attempt's calls have the same ids
            if (is_call || options_->resets_steps) ids->erase(id);
        }
        told_in_step_.clear();
        if (options_->resets_steps) tell({{"type", "reset-step"}}, lines);
    }
    void endStep(std::vector<std::string>& lines) {
        for (auto& [message, writing] : step_) endPart(writing, lines);
        if (!step_.empty()) tell({{"type", "finish-step"}}, lines);
        step_.clear();
        told_in_step_.clear();
    }
    /// Returns whether the id is new in the set. It is forgotten if the step is reset.
    bool isNew(std::set<std::string>& ids, const std::string& id) {
        if (!ids.insert(id).second) return false;
        told_in_step_.emplace_back(&ids, id);
        return true;
    }
    /// Adds to a text or a reasoning, of which each message has one open at a time.
    void grow(Writing& writing, const char* kind, const std::string& id, const std::string& text,
              std::vector<std::string>& lines) const {
        const std::string part = std::string(kind) + "-" + id;
        if (writing.open_part != part) {
            endPart(writing, lines);
            writing.open_part = part;
            writing.open_kind = kind;
            tell({{"type", writing.open_kind + "-start"}, {"id", part}}, lines);
        }
        tell({{"type", writing.open_kind + "-delta"}, {"id", part}, {"delta", text}}, lines);
    }
    void endPart(Writing& writing, std::vector<std::string>& lines) const {
        if (!writing.open_part.empty()) tell({{"type", writing.open_kind + "-end"}, {"id", writing.open_part}}, lines);
        writing.open_part.clear();
    }

    /// A result is reported as soon as it exists, and again when its superstep ends, which is after all its other calls
    /// were answered.
    void takeMessages(const HubEvent& event, std::vector<std::string>& lines) {
        // An agent's turn begins with results of calls that the turn before it left open. The client has these calls in
        // another message, and refuses results that are not of this one.
        const auto isEarlier = [&](const json::object& message) {
            const json::value* const result = message.if_contains("result");
            return event.node == "begin" && result != nullptr && result->is_object() &&
                   !known_.contains(textOf(result->get_object(), "call_id"));
        };
        if (const auto message = graphs_.wholeIn(event); message && !isEarlier(*message))
            takeWhole(*message, event.attempt, lines);
        for (const json::object& message : graphs_.writtenIn(event)) {
            if (!isEarlier(message)) takeMessage(message, event.attempt, lines);
        }
    }
    void takePiece(const ToldPiece& piece, std::vector<std::string>& lines) {
        Writing& writing = beginStep(piece.id, piece.attempt, lines);
        written_.insert(piece.id);
        if (!piece.reasoning.empty() && options_->reasoning)
            grow(writing, "reasoning", piece.id, piece.reasoning, lines);
        if (!piece.text.empty()) grow(writing, "text", piece.id, piece.text, lines);
        for (const ToldPiece::Call& call : piece.calls) {
            endPart(writing, lines);
            if (isNew(begun_, call.id)) {
                tell(
                    {{"type", "tool-input-start"}, {"toolCallId", call.id}, {"toolName", call.name}, {"dynamic", true}},
                    lines);
                writing.calls[call.id] = {call.id, call.name, {}};
            }
            writing.calls[call.id].arguments += call.arguments;
            if (!call.arguments.empty()) {
                tell({{"type", "tool-input-delta"}, {"toolCallId", call.id}, {"inputTextDelta", call.arguments}},
                     lines);
            }
        }
        for (const json::object& part : piece.provider) takeProviderPart(part, writing, lines);
    }
    /// Reports calls that have begun and that the whole message does not have, because its end is missing.
    void endCalls(Writing& writing, std::vector<std::string>& lines) const {
        for (const auto& [id, call] : writing.calls) {
            if (known_.contains(id)) continue;
            tell({{"type", "tool-input-error"},
                  {"toolCallId", id},
                  {"toolName", call.name},
                  {"input", call.arguments},
                  {"errorText", "The answer was cut off, and the call is not executed."},
                  {"dynamic", true}},
                 lines);
        }
        writing.calls.clear();
    }

    /// Returns whether a part is reported at once, and not in pieces.
    static bool isWholePart(const json::object& part) {
        const std::string type = textOf(part, "type");
        const std::string kind = textOf(part, "kind");
        return type == "file" || (type == "provider" && kind != "metadata" && kind != "options");
    }
    /// Reports a file, or what a tool of the provider did. `at` is the place of the part in its message.
    void takeWholePart(const json::object& part, const std::string& message, std::size_t at, Writing& writing,
                       std::vector<std::string>& lines) {
        if (textOf(part, "type") == "provider") return takeProviderPart(part, writing, lines);
        if (!isNew(files_, message + "#" + std::to_string(at))) return;
        endPart(writing, lines);
        takeFile(part, lines);
    }
    void takeFile(const json::object& part, std::vector<std::string>& lines) const {
        const std::string type = textOf(part, "media_type");
        std::string url = textOf(part, "url");
        if (url.empty()) url = "data:" + type + ";base64," + textOf(part, "data");
        tell({{"type", "file"}, {"mediaType", type}, {"url", std::move(url)}}, lines);
    }
    /// Reports what a tool of the provider did. It is reported once, immediately or with the whole message.
    void takeProviderPart(const json::object& given, Writing& writing, std::vector<std::string>& lines) {
        const ToldProviderPart part(given);
        json::object line;
        if (part.kind == "call" && isNew(known_, part.call_id)) {
            line = {{"type", "tool-input-available"},
                    {"toolCallId", part.call_id},
                    {"toolName", part.tool},
                    {"input", part.arguments},
                    {"dynamic", true},
                    {"providerExecuted", true}};
        } else if (part.kind == "result" && known_.contains(part.call_id) && isNew(answered_, part.call_id)) {
            line = {{"type", part.is_error ? "tool-output-error" : "tool-output-available"},
                    {"toolCallId", part.call_id}};
            if (part.is_error) {
                line["errorText"] = shownError(errorTextOf(part.output));
            } else {
                line["output"] = part.output;
            }
            line["dynamic"] = true;
            line["providerExecuted"] = true;
        } else if (part.kind == "source" && options_->sources && !part.url.empty() && isNew(sources_, part.url)) {
            line = {{"type", "source-url"}, {"sourceId", part.url}, {"url", part.url}};
            if (!part.title.empty()) line["title"] = part.title;
        }
        if (line.empty()) return;
        endPart(writing, lines);
        tell(line, lines);
    }

    void takeWhole(const json::object& message, int attempt, std::vector<std::string>& lines) {
        if (textOf(message, "role") == "tool") return takeResult(message, lines);
        const std::string id = textOf(message, "id");
        const auto known = step_.find(id);
        const bool is_again = known != step_.end() && attempt > known->second.attempt;
        if (is_again) noticeAttempt(known->second, attempt, lines);
        if (known != step_.end() && !is_again) {
            known->second.is_whole = true;
            endPart(known->second, lines);
        } else if (textOf(message, "role") == "assistant" && (is_again || !written_.contains(id))) {
            takeUnwritten(message, attempt, lines);
        }
    }
    /// Reports the texts and thoughts of a message that came without pieces. Its calls come when the task has ended.
    void takeUnwritten(const json::object& message, int attempt, std::vector<std::string>& lines) {
        const std::string id = textOf(message, "id");
        const std::vector<json::object> parts = partsIn(message);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const std::string type = textOf(parts[i], "type");
            const std::string text = textOf(parts[i], "text");
            const bool is_text = type == "text" || type == "reasoning";
            if (is_text ? text.empty() : !isWholePart(parts[i])) continue;
            if (type == "reasoning" && !options_->reasoning) continue;
            written_.insert(id);
            Writing& writing = beginStep(id, attempt, lines);
            if (is_text) {
                grow(writing, type.c_str(), id, text, lines);
            } else {
                takeWholePart(parts[i], id, i, writing, lines);
            }
        }
        if (const auto begun = step_.find(id); begun != step_.end()) endPart(begun->second, lines);
    }
    void takeMessage(const json::object& message, int attempt, std::vector<std::string>& lines) {
        if (textOf(message, "role") == "tool") {
            takeResult(message, lines);
            return;
        }
        if (textOf(message, "role") == "amend") return takeAmendment(message, lines);
        if (std::string reason = textOf(message, "finish_reason"); !reason.empty())
            finish_reason_ = reason == "paused" || reason == "aborted" ? "other" : std::move(reason);
        const std::string id = textOf(message, "id");
        std::vector<json::object> parts;
        if (textOf(message, "role") == "assistant") parts = partsIn(message);
        const bool has_parts = std::any_of(parts.begin(), parts.end(), isWholePart);
        const json::value* const found = message.if_contains("calls");
        const json::array* const calls = found != nullptr ? found->if_array() : nullptr;
        const bool has_calls = calls != nullptr && !calls->empty();
        if (!has_calls && !has_parts && !step_.contains(id)) return;
        Writing& writing = beginStep(id, attempt, lines);
        writing.is_whole = true;
        endPart(writing, lines);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (isWholePart(parts[i])) takeWholePart(parts[i], id, i, writing, lines);
        }
        for (std::size_t i = 0; has_calls && i < calls->size(); ++i) {
            const json::object* const call = (*calls)[i].if_object();
            if (call != nullptr) takeCall(textOf(*call, "id"), textOf(*call, "name"), argumentsOf(*call), lines);
        }
        endCalls(writing, lines);
    }
    static json::value argumentsOf(const json::object& call) {
        const std::string text = textOf(call, "arguments");
        if (text.find_first_not_of(" \t\r\n") == std::string::npos) return json::object();
        boost::system::error_code broken;
        json::value arguments = parsedText(text, broken);
        return broken ? json::value(text) : arguments;  // the page shows what the model wrote
    }
    void takeCall(const std::string& id, const std::string& tool, const json::value& input,
                  std::vector<std::string>& lines) {
        if (!isNew(known_, id)) return;
        tell({{"type", "tool-input-available"},
              {"toolCallId", id},
              {"toolName", tool},
              {"input", input},
              {"dynamic", true}},
             lines);
    }
    /// Reports the arguments with which a person has approved a call; its result follows. The client receives them in
    /// pieces, because it would execute a tool of its own if it received them whole.
    void takeAmendment(const json::object& message, std::vector<std::string>& lines) {
        const json::value* const calls = message.if_contains("calls");
        if (calls == nullptr || !calls->is_array()) return;
        for (const json::value& each : calls->get_array()) {
            const json::object* const call = each.if_object();
            if (call == nullptr || !amended_.insert(textOf(*call, "id")).second) continue;
            known_.insert(textOf(*call, "id"));
            tell({{"type", "tool-input-start"},
                  {"toolCallId", textOf(*call, "id")},
                  {"toolName", textOf(*call, "name")},
                  {"dynamic", true}},
                 lines);
            tell({{"type", "tool-input-delta"},
                  {"toolCallId", textOf(*call, "id")},
                  {"inputTextDelta", textOf(*call, "arguments")}},
                 lines);
        }
    }
    void takeResult(const json::object& message, std::vector<std::string>& lines) {
        const json::value* const found = message.if_contains("result");
        const json::object* const result = found != nullptr ? found->if_object() : nullptr;
        if (result == nullptr) return;
        // Used for a response that began after the call: the client knows the call from an earlier response, or
        // receives it here.
        const ToldResult told(*result);
        if (!answered_.insert(told.call_id).second) return;
        if (told.is_declined) {
            tell({{"type", "tool-output-denied"}, {"toolCallId", told.call_id}}, lines);
        } else if (told.is_error) {
            tell({{"type", "tool-output-error"},
                  {"toolCallId", told.call_id},
                  {"errorText", shownError(errorTextOf(told.output))},
                  {"dynamic", true}},
                 lines);
        } else {
            tell({{"type", "tool-output-available"},
                  {"toolCallId", told.call_id},
                  {"output", told.output},
                  {"dynamic", true}},
                 lines);
            for (const json::object& part : partsIn(message)) {  // the files that the model receives
                if (textOf(part, "type") == "file") takeFile(part, lines);
            }
        }
    }
    void takeQuestion(const ToldQuestion& question, std::vector<std::string>& lines) {
        if (!question.isOfCall()) {
            tell({{"type", "data-question"},
                  {"id", question.interrupt_id},
                  {"data",
                   {{"node", question.node},
                    {"kind", question.kind},
                    {"text", question.text},
                    {"value", question.value}}}},
                 lines);
            return;
        }
        // The client is asked about it already, or shows the call of its own tool.
        const bool is_approval = question.kind == "tool-approval";
        const auto shown = shown_.find(question.call_id);
        if (shown != shown_.end() && (!is_approval || shown->second)) return;
        takeCall(question.call_id, question.tool, question.arguments, lines);
        if (!is_approval) return;
        tell({{"type", "tool-approval-request"},
              {"approvalId", question.interrupt_id},
              {"toolCallId", question.call_id}},
             lines);
    }

    std::shared_ptr<const UiMessagesOptions> options_;
    std::map<std::string, Writing> step_;  // the messages of the step that is open, by id; empty: none is
    std::set<std::string> begun_, known_, amended_, answered_;  // ids of calls
    std::map<std::string, bool> shown_;  // those that the client had before; true: it asks about them
    std::set<std::string> sources_;      // addresses of sources
    std::set<std::string> files_;        // the messages' ids with the files' places
    std::set<std::string> written_;      // ids of messages whose texts were reported
    std::vector<std::pair<std::set<std::string>*, std::string>> told_in_step_;
    std::string finish_reason_;  // of the last answer
    MessageGraphs graphs_;
    Questions questions_;
};

}  // namespace

Protocol uiMessages(UiMessagesOptions options) {
    Protocol protocol;
    protocol.name = "ui";
    const auto shared = std::make_shared<const UiMessagesOptions>(std::move(options));
    protocol.encoder = [shared] { return std::make_unique<UiMessages>(shared); };
    protocol.modes = {StreamMode::updates, StreamMode::messages, StreamMode::custom, StreamMode::runs};
    protocol.headers = {{"x-vercel-ai-ui-message-stream", "v1"}};
    protocol.last_data = "[DONE]";
    protocol.only_sse = true;
    protocol.account = shared->account;
    protocol.line_schema = ui_line_schema;
    return protocol;
}

}  // namespace stategraph::serve
