#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/json.hpp>
#include <stategraph/serve/protocol.hpp>

#include "serve/account.hpp"
#include "serve/ag_ui_messages.hpp"
#include "serve/ag_ui_request.hpp"
#include "serve/json_patch.hpp"
#include "serve/told.hpp"

namespace stategraph::serve {

namespace {

namespace json = boost::json;

constexpr const char* protocol_version = "1.0";

/// The schema of a decision about a call, from which a page can make a form.
json::object decisionSchema() {
    return {
        {"type", "object"},
        {"properties",
         {{"approved", {{"type", "boolean"}}}, {"reason", {{"type", "string"}}}, {"arguments", {{"type", "object"}}}}},
        {"required", {"approved"}}};
}

json::object interruptOf(const ToldQuestion& question) {
    json::object shown{{"id", question.interrupt_id}, {"reason", question.kind}};
    if (!question.text.empty()) shown["message"] = question.text;
    if (question.isOfCall()) shown["toolCallId"] = question.call_id;
    if (question.kind == "tool-approval") shown["responseSchema"] = decisionSchema();
    shown["metadata"] = {{"node", question.node}, {"value", question.value}};
    return shown;
}

/// Writes one response as events of AG-UI: what begins ends before the run does. Clients know messages and calls by
/// their ids, and refuse an end without a beginning. A client that begins to read while a message is being written
/// receives it as a whole.
class AgUiEvents final : public Encoder {
public:
    explicit AgUiEvents(AgUiOptions options) : options_(options) {}

    void open(const Opening& opening, std::vector<std::string>& lines) override {
        thread_ = opening.thread;
        run_ = opening.run;
        known_ = opening.messages;
        only_reads_ = opening.only_reads;
        misses_pieces_ = only_reads_;
        renames_ = opening.renames_messages;
        tell({{"type", "RUN_STARTED"}, {"threadId", thread_}, {"runId", run_}, {"protocolVersion", protocol_version}},
             lines);
        if (opening.state.empty()) return;
        boost::system::error_code broken;  // the library wrote it
        json::value stored = parsedText(opening.state, broken);
        if (!stored.is_object()) return;
        if (only_reads_) questions_ = questionsOf(stored.get_object());
        json::value* const values = stored.get_object().if_contains("values");
        if (values == nullptr || !values->is_object()) return;
        json::object& channels = values->get_object();
        const json::array* const found = listIn(channels, "messages");
        const json::array messages = found != nullptr ? *found : json::array();
        channels.erase("messages");
        if (options_.state) tellState(std::move(channels), lines);
        tellMessages(messages, lines);
    }

    void take(const HubEvent& event, std::vector<std::string>& lines) override {
        // The state that a page was loaded with has those that waited before.
        for (ToldQuestion& question : asked_.newIn(event)) {
            if (std::ranges::find(questions_, question.interrupt_id, &ToldQuestion::interrupt_id) == questions_.end())
                questions_.push_back(std::move(question));
        }
        if (event.mode == StreamMode::runs) {
            has_ended_ = endOf(event).has_value();
            if (has_ended_) std::erase_if(questions_, [&](const ToldQuestion& each) { return !isOpen(each, event); });
        } else if (event.mode == StreamMode::tasks) {
            if (event.ns.empty()) takeTask(event, lines);
        } else if (event.mode == StreamMode::values) {
            if (event.ns.empty()) takeValues(event, lines);
        } else if (event.mode == StreamMode::custom) {
            takeCustom(event, lines);
        } else if (const auto piece = pieceIn(event)) {
            graphs_.note(event);
            if (!misses_pieces_) takePiece(*piece, lines);
        } else {
            if (const auto message = graphs_.wholeIn(event)) takeMessage(*message, event.attempt, lines);
            for (const json::object& message : graphs_.writtenIn(event)) {
                takeMessage(message, event.attempt, lines);
                takeCalls(message, lines);
            }
            if (event.mode == StreamMode::updates && event.ns.empty()) misses_pieces_ = false;
        }
    }

    void close(const Closing& closing, std::vector<std::string>& lines) override {
        for (auto& [id, writing] : writing_) endAll(id, writing, lines);
        for (const std::string& step : steps_) tell({{"type", "STEP_FINISHED"}, {"stepName", step}}, lines);
        // A superstep that has not ended has told more than the newest state has.
        if (closing.ending == Status::done) tellMessages(lines);
        const bool failed = !closing.error.empty() && (!only_reads_ || has_ended_);
        if (failed || closing.ending == Status::drained) {
            std::string text = closing.error;
            if (text.empty()) text = "The server ends; the thread can be resumed.";
            tell({{"type", "RUN_ERROR"}, {"message", text}, {"code", toString(closing.ending)}}, lines);
            return;
        }
        json::object finished{{"type", "RUN_FINISHED"}, {"threadId", thread_}, {"runId", run_}};
        finished["outcome"] = outcomeOf(closing.ending);
        finished["metadata"] = endMetadata(closing);
        tell(finished, lines);
    }

private:
    static void tell(const json::object& line, std::vector<std::string>& lines) {
        lines.push_back(stategraph::detail::jsonText(line));
    }

    /// A message that is being written.
    struct Writing {
        int attempt = 0;  // of the call of the model whose pieces were reported; 0: unknown
        bool is_text_open = false;
        bool is_reasoning_open = false;
        std::string open_call = {};  // empty: none
    };

    static bool isOpen(const ToldQuestion& question, const HubEvent& end) {
        return std::ranges::any_of(end.interrupts,
                                   [&](const Interrupt& open) { return open.id.toString() == question.interrupt_id; });
    }

    /// Calls of a client's own tools are no interrupts: it answers them with messages.
    json::object outcomeOf(Status ending) const {
        if (ending == Status::cancelled) return {{"type", "cancelled"}};
        json::array interrupts;
        json::array calls;
        const bool waits = ending == Status::interrupted || only_reads_;
        for (const ToldQuestion& question : questions_) {
            if (!waits) break;
            if (question.kind == "tool-call") {
                calls.emplace_back(question.call_id);
            } else {
                interrupts.push_back(interruptOf(question));
            }
        }
        if (ending == Status::breakpoint && interrupts.empty())
            interrupts.push_back({{"id", breakpoint_id}, {"reason", "breakpoint"}});
        if (!interrupts.empty()) return {{"type", "interrupt"}, {"interrupts", std::move(interrupts)}};
        json::object success{{"type", "success"}};
        if (!calls.empty()) success["pendingToolCallIds"] = std::move(calls);
        return success;
    }

    // Steps: the nodes of the outermost graph. A step has several tasks if a superstep runs the node several times.
    void takeTask(const HubEvent& event, std::vector<std::string>& lines) {
        const auto members = event.data.as<std::map<std::string, Value>>();
        const bool ends = members.contains("result");
        const std::string& step = event.node;
        int& tasks = tasks_[step];
        if (!ends && tasks++ == 0) {
            steps_.insert(step);
            tell({{"type", "STEP_STARTED"}, {"stepName", step}}, lines);
        }
        if (!ends || tasks == 0 || --tasks > 0) return;
        steps_.erase(step);
        tell({{"type", "STEP_FINISHED"}, {"stepName", step}}, lines);
    }

    void takeValues(const HubEvent& event, std::vector<std::string>& lines) {
        auto members = event.data.as<std::map<std::string, Value>>();
        if (members.contains("__interrupt__")) return;
        if (const auto found = members.find("messages"); found != members.end()) {
            messages_ = std::move(found->second);
            members.erase(found);
        }
        json::object channels;
        for (const auto& [name, value] : members) channels[name] = toJsonValue(value);
        tellState(std::move(channels), lines);
    }
    /// Reports a state as what has changed, or as a whole if that is shorter.
    void tellState(json::object channels, std::vector<std::string>& lines) {
        json::value now = std::move(channels);
        std::string line;
        if (state_) {
            json::array patch = patchOf(*state_, now);
            if (patch.empty()) return;
            line = stategraph::detail::jsonText(json::object{{"type", "STATE_DELTA"}, {"delta", std::move(patch)}});
        }
        std::string whole = stategraph::detail::jsonText(json::object{{"type", "STATE_SNAPSHOT"}, {"snapshot", now}});
        lines.push_back(line.empty() || whole.size() < line.size() ? std::move(whole) : std::move(line));
        state_ = std::move(now);
    }
    void tellMessages(const json::array& stored, std::vector<std::string>& lines) const {
        const ShownMessages how{.reasoning = options_.reasoning, .renames = renames_};
        tell({{"type", "MESSAGES_SNAPSHOT"}, {"messages", agUiMessages(stored, how)}}, lines);
    }
    /// The conversation, as the newest state has it. Clients drop what is not in it, and add what they missed.
    void tellMessages(std::vector<std::string>& lines) const {
        if (!messages_) return;
        const json::value messages = toJsonValue(*messages_);
        if (messages.is_array()) tellMessages(messages.get_array(), lines);
    }

    /// {"name", "value"} names itself; other data have the name of their node.
    static void takeCustom(const HubEvent& event, std::vector<std::string>& lines) {
        const json::value data = dataOf(event);
        const json::object* const object = data.if_object();
        const json::value* const value = object != nullptr ? object->if_contains("value") : nullptr;
        const std::string name = object != nullptr ? textOf(*object, "name") : std::string();
        const bool is_named = value != nullptr && object->size() == 2 && !name.empty();
        tell({{"type", "CUSTOM"}, {"name", is_named ? name : event.node}, {"value", is_named ? *value : data}}, lines);
    }

    void takePiece(const ToldPiece& piece, std::vector<std::string>& lines) {
        Writing& writing = writingOf(piece.id, piece.attempt, lines);
        told_.insert(piece.id);
        if (!piece.reasoning.empty()) takeReasoning(piece.id, piece.reasoning, writing, lines);
        if (!piece.text.empty()) takeText(piece.id, piece.text, "assistant", writing, lines);
        for (const ToldPiece::Call& call : piece.calls) {
            if (calls_.insert(call.id).second) beginCall(call.id, call.name, piece.id, writing, lines);
            if (!call.arguments.empty() && writing.open_call == call.id)
                tell({{"type", "TOOL_CALL_ARGS"}, {"toolCallId", call.id}, {"delta", call.arguments}}, lines);
        }
    }
    /// If the model was called again for a message of which pieces were reported, the client forgets them with a
    /// snapshot of the conversation before them, unless another message is being written.
    Writing& writingOf(const std::string& message, int attempt, std::vector<std::string>& lines) {
        const auto [found, is_new] = writing_.try_emplace(message, Writing{.attempt = attempt});
        Writing& writing = found->second;
        const bool is_again = !is_new && writing.attempt > 0 && attempt > writing.attempt;
        writing.attempt = std::max(writing.attempt, attempt);
        if (!is_again) return writing;
        endAll(message, writing, lines);
        if (writing_.size() == 1) tellMessages(lines);
        told_.erase(message);
        calls_.clear();
        return writing;
    }

    void takeText(const std::string& message, const std::string& text, std::string_view role, Writing& writing,
                  std::vector<std::string>& lines) {
        endReasoning(message, writing, lines);
        if (!writing.is_text_open)
            tell({{"type", "TEXT_MESSAGE_START"}, {"messageId", message}, {"role", role}}, lines);
        writing.is_text_open = true;
        tell({{"type", "TEXT_MESSAGE_CONTENT"}, {"messageId", message}, {"delta", text}}, lines);
    }
    void takeReasoning(const std::string& message, const std::string& text, Writing& writing,
                       std::vector<std::string>& lines) const {
        if (!options_.reasoning) return;
        const std::string id = reasoningId(message);
        if (!writing.is_reasoning_open) {
            tell({{"type", "REASONING_START"}, {"messageId", id}}, lines);
            tell({{"type", "REASONING_MESSAGE_START"}, {"messageId", id}, {"role", "reasoning"}}, lines);
        }
        writing.is_reasoning_open = true;
        tell({{"type", "REASONING_MESSAGE_CONTENT"}, {"messageId", id}, {"delta", text}}, lines);
    }
    static void endReasoning(const std::string& message, Writing& writing, std::vector<std::string>& lines) {
        if (!std::exchange(writing.is_reasoning_open, false)) return;
        tell({{"type", "REASONING_MESSAGE_END"}, {"messageId", reasoningId(message)}}, lines);
        tell({{"type", "REASONING_END"}, {"messageId", reasoningId(message)}}, lines);
    }
    static void beginCall(const std::string& id, const std::string& name, const std::string& message, Writing& writing,
                          std::vector<std::string>& lines) {
        endAll(message, writing, lines);
        tell({{"type", "TOOL_CALL_START"}, {"toolCallId", id}, {"toolCallName", name}, {"parentMessageId", message}},
             lines);
        writing.open_call = id;
    }
    static void endAll(const std::string& message, Writing& writing, std::vector<std::string>& lines) {
        endReasoning(message, writing, lines);
        if (std::exchange(writing.is_text_open, false))
            tell({{"type", "TEXT_MESSAGE_END"}, {"messageId", message}}, lines);
        if (const std::string call = std::exchange(writing.open_call, {}); !call.empty())
            tell({{"type", "TOOL_CALL_END"}, {"toolCallId", call}}, lines);
    }

    /// Reports what a message has that was not reported in pieces, but for calls. What the client has sent is not
    /// reported to it.
    void takeMessage(const json::object& message, int attempt, std::vector<std::string>& lines) {
        const std::string_view role = roleOf(message);
        const std::string id = shownId(message, renames_);
        if (role == "tool") return takeResult(message, id, lines);
        if (role.empty() || id.empty() || known_.contains(id)) return;
        Writing& writing = writingOf(id, attempt, lines);
        endAll(id, writing, lines);
        if (!told_.insert(id).second) return;
        for (const json::object& part : partsIn(message)) {
            const std::string type = textOf(part, "type");
            const std::string text = textOf(part, "text");
            if (type == "text" && !text.empty()) takeText(id, text, role, writing, lines);
            if (type == "reasoning" && !text.empty()) takeReasoning(id, text, writing, lines);
        }
        endAll(id, writing, lines);
    }
    void takeCalls(const json::object& message, std::vector<std::string>& lines) {
        const std::string id = textOf(message, "id");
        const json::array* const calls = listIn(message, "calls");
        if (calls == nullptr || roleOf(message) != "assistant") return;
        for (const json::value& each : *calls) {
            const json::object* const call = each.if_object();
            if (call == nullptr || !calls_.insert(textOf(*call, "id")).second) continue;
            Writing& writing = writing_[id];
            beginCall(textOf(*call, "id"), textOf(*call, "name"), id, writing, lines);
            std::string arguments = textOf(*call, "arguments");
            if (arguments.empty()) arguments = "{}";
            tell({{"type", "TOOL_CALL_ARGS"}, {"toolCallId", writing.open_call}, {"delta", arguments}}, lines);
            endAll(id, writing, lines);
        }
    }
    void takeResult(const json::object& message, const std::string& id, std::vector<std::string>& lines) {
        const json::value* const found = message.if_contains("result");
        if (found == nullptr || !found->is_object()) return;
        const ToldResult result(found->get_object());
        if (known_.contains(id) || !answered_.insert(result.call_id).second) return;
        tell({{"type", "TOOL_CALL_RESULT"},
              {"messageId", id},
              {"toolCallId", result.call_id},
              {"content", asText(result.output)},
              {"role", "tool"}},
             lines);
    }

    AgUiOptions options_;
    std::string thread_, run_;
    bool only_reads_ = false;
    bool renames_ = false;
    bool has_ended_ = false;                  // whether it has taken the end of a run
    bool misses_pieces_ = false;              // of what is being written, it has not received the beginning
    std::set<std::string> known_;             // ids of messages that the client sent
    std::map<std::string, Writing> writing_;  // by the ids of messages
    std::set<std::string> told_;              // ids of messages whose texts were reported
    std::set<std::string> calls_, answered_;  // ids of calls that were reported
    std::map<std::string, int> tasks_;        // how many run, by their node
    std::set<std::string> steps_;             // those that have begun
    std::optional<json::value> state_;        // as it was reported
    std::optional<Value> messages_;           // of the newest state
    std::vector<ToldQuestion> questions_;     // that wait
    MessageGraphs graphs_;
    Questions asked_;
};

}  // namespace

Protocol agUiEvents(AgUiOptions options) {
    Protocol protocol;
    protocol.name = "ag-ui";
    protocol.encoder = [options] { return std::make_unique<AgUiEvents>(options); };
    protocol.modes = {StreamMode::updates, StreamMode::messages, StreamMode::custom, StreamMode::tasks,
                      StreamMode::runs};
    if (options.state) protocol.modes = protocol.modes | StreamModes(StreamMode::values);
    protocol.task_inputs = false;
    protocol.only_sse = true;
    protocol.account = options.account;
    return protocol;
}

}  // namespace stategraph::serve
