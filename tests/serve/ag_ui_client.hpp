#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "tests/serve/client.hpp"
#include "tests/serve/json_patch.hpp"

// A client of the protocol "ag-ui": it keeps its messages and its state as @ag-ui/client does, and is as strict.
namespace ag_ui {

namespace json = boost::json;

inline std::string textAt(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

class Client {
public:
    std::string thread = "t";
    json::array messages = {};
    json::value state = json::object();
    json::object outcome = {};            // of the last run
    json::object ended = {};              // its last event
    std::vector<std::string> kinds = {};  // of its events, each once where several come one after the other
    client::Response response = {};

    void say(std::string id, std::string text) {
        messages.push_back({{"id", std::move(id)}, {"role", "user"}, {"content", std::move(text)}});
    }
    std::string body(json::array resume = {}) {
        json::object input{{"threadId", thread}, {"runId", "run-" + std::to_string(++runs_)}, {"messages", messages}};
        input["state"] = state;
        input["tools"] = json::array();
        input["context"] = json::array();
        input["forwardedProps"] = json::object();
        if (!resume.empty()) input["resume"] = std::move(resume);
        return json::serialize(input);
    }
    /// Errors: std::runtime_error if the events do not fit each other.
    void run(std::uint16_t port, std::string_view target, json::array resume = {}) {
        response = client::post(port, target, body(std::move(resume)), "Accept: text/event-stream\r\n");
        if (response.status == 200) read(response);
    }
    void read(const client::Response& answer) {
        kinds.clear();
        outcome.clear();
        for (const json::object& event : answer.objects()) take(event);
        const std::string last = textAt(ended, "type");
        if (last != "RUN_FINISHED" && last != "RUN_ERROR") throw std::runtime_error("the run has no end");
    }
    /// The texts of the messages, each with its role.
    std::vector<std::string> texts() const {
        std::vector<std::string> all;
        for (const json::value& message : messages)
            all.push_back(textAt(message.as_object(), "role") + ":" + textAt(message.as_object(), "content"));
        return all;
    }
    std::string firstInterrupt() const { return textAt(outcome.at("interrupts").as_array().at(0).as_object(), "id"); }

private:
    json::object* find(std::string_view id) {
        for (json::value& each : messages) {
            if (textAt(each.as_object(), "id") == id) return &each.as_object();
        }
        return nullptr;
    }
    json::object& message(const std::string& id, std::string_view role) {
        if (json::object* const known = find(id)) return *known;
        messages.push_back({{"id", id}, {"role", role}, {"content", ""}});
        return messages.back().as_object();
    }
    static void begin(std::set<std::string>& open, const std::string& id) {
        if (!open.insert(id).second) throw std::runtime_error(id + " has begun before");
    }
    static void end(std::set<std::string>& open, const std::string& id) {
        if (open.erase(id) == 0) throw std::runtime_error(id + " has not begun");
    }
    static void grow(json::object& object, std::string_view member, const std::string& delta) {
        object[member] = textAt(object, member) + delta;
    }
    json::object& call(const std::string& id) {
        for (json::value& each : messages) {
            json::value* const calls = each.as_object().if_contains("toolCalls");
            for (std::size_t i = 0; calls != nullptr && i < calls->as_array().size(); ++i) {
                json::object& one = calls->as_array()[i].as_object();
                if (textAt(one, "id") == id) return one.at("function").as_object();
            }
        }
        throw std::runtime_error("there is no call " + id);
    }

    void take(const json::object& event) {
        const std::string type = textAt(event, "type");
        if (kinds.empty() || kinds.back() != type) kinds.push_back(type);
        if (!is_running_ && type != "RUN_STARTED") throw std::runtime_error(type + " outside a run");
        ended = event;
        const std::string id = textAt(event, "messageId");
        const std::string delta = textAt(event, "delta");
        const std::string call_id = textAt(event, "toolCallId");
        if (type == "RUN_STARTED") {
            is_running_ = true;
        } else if (type == "RUN_FINISHED") {
            if (!texts_.empty() || !thoughts_.empty() || !calls_.empty() || !steps_.empty())
                throw std::runtime_error("something has not ended");
            outcome = event.at("outcome").as_object();
            is_running_ = false;
        } else if (type == "RUN_ERROR") {
            is_running_ = false;
        } else if (type == "TEXT_MESSAGE_START") {
            begin(texts_, id);
            message(id, textAt(event, "role"));
        } else if (type == "TEXT_MESSAGE_CONTENT") {
            if (!texts_.contains(id)) throw std::runtime_error(id + " has not begun");
            grow(message(id, ""), "content", delta);
        } else if (type == "TEXT_MESSAGE_END") {
            end(texts_, id);
        } else if (type == "REASONING_MESSAGE_START") {
            begin(thoughts_, id);
            message(id, "reasoning");
        } else if (type == "REASONING_MESSAGE_CONTENT") {
            grow(message(id, ""), "content", delta);
        } else if (type == "REASONING_MESSAGE_END") {
            end(thoughts_, id);
        } else if (type == "TOOL_CALL_START") {
            begin(calls_, call_id);
            json::object& parent = message(textAt(event, "parentMessageId"), "assistant");
            json::array calls;
            if (json::value* const known = parent.if_contains("toolCalls")) calls = known->as_array();
            calls.push_back({{"id", call_id},
                             {"type", "function"},
                             {"function", {{"name", textAt(event, "toolCallName")}, {"arguments", ""}}}});
            parent["toolCalls"] = std::move(calls);
        } else if (type == "TOOL_CALL_ARGS") {
            grow(call(call_id), "arguments", delta);
        } else if (type == "TOOL_CALL_END") {
            end(calls_, call_id);
        } else if (type == "TOOL_CALL_RESULT") {
            takeResult({{"id", id}, {"role", "tool"}, {"toolCallId", call_id}, {"content", textAt(event, "content")}});
        } else if (type == "STEP_STARTED") {
            begin(steps_, textAt(event, "stepName"));
        } else if (type == "STEP_FINISHED") {
            end(steps_, textAt(event, "stepName"));
        } else if (type == "STATE_SNAPSHOT") {
            state = event.at("snapshot");
        } else if (type == "STATE_DELTA") {
            state = json_patch::applied(std::move(state), event.at("delta").as_array());
        } else if (type == "MESSAGES_SNAPSHOT") {
            takeSnapshot(event.at("messages").as_array());
        }
    }
    /// A result comes after the message with its call, and after the results that are there.
    void takeResult(const json::object& result) {
        std::size_t at = 0;
        for (std::size_t i = 0; i < messages.size(); ++i) {
            const json::value* const calls = messages[i].as_object().if_contains("toolCalls");
            for (std::size_t k = 0; calls != nullptr && k < calls->as_array().size(); ++k) {
                if (calls->as_array()[k].at("id") == result.at("toolCallId")) at = i + 1;
            }
        }
        if (at == 0) at = messages.size();
        while (at < messages.size() && textAt(messages[at].as_object(), "role") == "tool") ++at;
        messages.insert(messages.begin() + static_cast<std::ptrdiff_t>(at), result);
    }
    /// Messages that a snapshot does not have go, thoughts stay; new ones come at the end.
    void takeSnapshot(const json::array& whole) {
        std::map<std::string, json::value> given;
        bool has_thoughts = false;
        for (const json::value& each : whole) {
            given[textAt(each.as_object(), "id")] = each;
            has_thoughts = has_thoughts || textAt(each.as_object(), "role") == "reasoning";
        }
        json::array kept;
        for (json::value& each : messages) {
            const auto found = given.find(textAt(each.as_object(), "id"));
            if (found != given.end()) {
                kept.push_back(found->second);
            } else if (!has_thoughts && textAt(each.as_object(), "role") == "reasoning") {
                kept.push_back(each);
            }
        }
        messages = std::move(kept);
        for (const json::value& each : whole) {
            if (find(textAt(each.as_object(), "id")) == nullptr) messages.push_back(each);
        }
    }

    int runs_ = 0;
    bool is_running_ = false;
    std::set<std::string> texts_, thoughts_, calls_, steps_;
};

}  // namespace ag_ui
