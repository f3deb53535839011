#include "tests/langgraph/described_steps.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include <stategraph/interrupt.hpp>
#include <stategraph/store.hpp>

namespace described {
namespace {

bool isTrue(const json::value& value) {
    switch (value.kind()) {
        case json::kind::null:
            return false;
        case json::kind::bool_:
            return value.get_bool();
        case json::kind::string:
            return !value.get_string().empty();
        case json::kind::array:
        case json::kind::object:
            return true;
        default:
            return value.to_number<double>() != 0;
    }
}

/// One call of a node.
class NodeCall {
public:
    NodeCall(const json::value& state, int slower, sg::Runtime& runtime)
        : state_(state), slower_(slower), runtime_(runtime) {}

    sg::Command<sg::JsonState> perform(const json::value& steps) {
        for (const json::value& step : steps.as_array()) actionOf(text(get(step, "op")))(*this, step);
        for (auto& [channel, value] : written_) command_.update.write(channel, std::move(value));
        return std::move(command_);
    }

    using Action = void (*)(NodeCall&, const json::value& step);
    /// Null if there is no such step.
    static Action actionOf(const std::string& op) {
        static const std::map<std::string, Action> actions = {
            {"set", [](NodeCall& call, const json::value& step) { call.set(step); }},
            {"interrupt", [](NodeCall& call, const json::value& step) { call.ask(step); }},
            {"custom", [](NodeCall& call, const json::value& step) { call.report(step); }},
            {"sleep", [](NodeCall& call, const json::value& step) { call.sleep(step); }},
            {"fail", [](NodeCall& call, const json::value& step) { call.fail(step); }},
            {"message", [](NodeCall& call, const json::value& step) { call.say(step); }},
            {"model", [](NodeCall& call, const json::value& step) { call.stream(step); }},
            {"goto", [](NodeCall& call, const json::value& step) { call.goTo(step); }},
            {"store_put", [](NodeCall& call, const json::value& step) { call.remember(step); }},
        };
        const auto found = actions.find(op);
        return found == actions.end() ? nullptr : found->second;
    }

private:
    json::value evaluate(const json::value& value) const;
    json::value evaluate(const json::value& step, std::string_view member) const { return evaluate(get(step, member)); }
    static json::value given(const sg::Value& map, const std::string& key, bool has) {
        const json::value members = sg::toJsonValue(map);
        if (has) return members.is_object() && members.get_object().contains(key);
        return get(members, key);
    }
    const RequestContext& request() const { return runtime_.context<RequestContext>(); }

    void write(const std::string& channel, json::value value) {
        const auto known =
            std::find_if(written_.begin(), written_.end(), [&](const auto& each) { return each.first == channel; });
        if (known == written_.end()) {
            written_.emplace_back(channel, std::move(value));
        } else if (known->second.is_array() && value.is_array()) {
            for (json::value& item : value.get_array()) known->second.get_array().push_back(std::move(item));
        } else {
            known->second = std::move(value);
        }
    }
    void set(const json::value& step) { write(text(get(step, "channel")), evaluate(step, "value")); }
    void ask(const json::value& step) {
        const sg::Value question = sg::fromJson(evaluate(step, "value"));
        answers_[text(get(step, "as"))] = sg::interrupt<json::value>(runtime_, question);
    }
    void report(const json::value& step) { runtime_.write(sg::fromJson(evaluate(step, "value"))); }
    void sleep(const json::value& step) {
        const json::value time = evaluate(step, "ms");
        // Ends with the run, if that is stopped.
        if (time.is_number()) runtime_.waitFor(std::chrono::milliseconds(time.to_number<std::int64_t>() * slower_));
    }
    void fail(const json::value& step) const {
        if (step.get_object().contains("if") && !isTrue(evaluate(step, "if"))) return;
        throw NamedError(text(get(step, "name")), text(get(step, "message")));
    }
    void say(const json::value& step) {
        json::object message;
        for (const char* member : {"type", "id", "content", "tool_calls", "tool_call_id", "name"}) {
            if (step.get_object().contains(member)) message[member] = evaluate(step, member);
        }
        write("messages", json::array{std::move(message)});
    }
    void stream(const json::value& step) {
        json::object message{{"type", "ai"}, {"id", get(step, "id")}};
        std::string whole;
        for (const json::value& token : get(step, "tokens").as_array()) {
            message["content"] = token;
            whole += text(token);
            runtime_.emitMessage(sg::fromJson(json::value(message)));
        }
        message["content"] = whole;
        write("messages", json::array{std::move(message)});
    }
    void goTo(const json::value& step) { command_.go_to.add(text(evaluate(step, "to"))); }
    void remember(const json::value& step) {
        sg::StoreNamespace ns;
        for (const json::value& label : get(step, "namespace").as_array()) ns.push_back(text(label));
        runtime_.store().put(std::move(ns), text(evaluate(step, "key")), sg::fromJson(evaluate(step, "value")));
    }

    const json::value& state_;
    int slower_;
    sg::Runtime& runtime_;
    std::map<std::string, json::value> answers_;
    std::vector<std::pair<std::string, json::value>> written_;  // in the order of the first writes
    sg::Command<sg::JsonState> command_;
};

json::value NodeCall::evaluate(const json::value& value) const {
    if (const json::array* items = value.if_array()) {
        json::array evaluated;
        for (const json::value& item : *items) evaluated.push_back(evaluate(item));
        return evaluated;
    }
    const json::object* members = value.if_object();
    if (members == nullptr) return value;
    if (const json::value* channel = members->if_contains("$state")) return get(state_, text(*channel));
    if (const json::value* answer = members->if_contains("$var")) return answers_.at(text(*answer));
    const bool has = isTrue(get(value, "$has"));
    if (const json::value* key = members->if_contains("$config")) return given(request().configurable, text(*key), has);
    if (const json::value* key = members->if_contains("$context")) return given(request().context, text(*key), has);
    if (const json::value* parts = members->if_contains("$concat")) {
        std::string joined;
        for (const json::value& part : parts->as_array()) joined += text(evaluate(part));
        return json::string(joined);
    }
    json::object evaluated;
    for (const auto& member : *members) evaluated[member.key()] = evaluate(member.value());
    return evaluated;
}

}  // namespace

void checkSteps(const json::value& steps, const std::string& where) {
    for (const json::value& step : steps.as_array()) {
        if (NodeCall::actionOf(text(get(step, "op"))) == nullptr) {
            throw std::runtime_error(where + " has a step with an unknown op: " + json::serialize(step) +
                                     ". tests/langgraph/recorded/README.md lists those that exist.");
        }
    }
}

sg::Command<sg::JsonState> perform(const json::value& steps, const json::value& state, int slower,
                                   sg::Runtime& runtime) {
    return NodeCall(state, slower, runtime).perform(steps);
}

}  // namespace described
