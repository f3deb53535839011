#include <stategraph/agent/open_calls.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <stategraph/error.hpp>

#include "agent/calls.hpp"
#include "model/broken_off.hpp"

namespace stategraph::agent {

namespace {

/// Returns the call that an open question is about, or none if the question is about something else.
std::optional<OpenCall> openCallOf(const Interrupt& open) {
    try {
        const auto question = open.value.as<Question>();
        OpenCall call;
        call.interrupt_id = open.id;
        std::visit(
            [&](const auto& asked) {
                call.id = asked.call_id;
                call.provider_id = asked.provider_id;
                call.tool = asked.tool;
                call.arguments = asked.arguments;
            },
            question);
        call.is_for_client = std::holds_alternative<ClientRequest>(question);
        call.is_in_doubt = std::holds_alternative<DoubtRequest>(question);
        return call;
    } catch (const WrongTypeError&) {
        return {};
    }
}

std::string textsOf(const std::vector<OpenCall>& calls) {
    std::string all;
    for (const OpenCall& call : calls) all += (all.empty() ? "" : ", ") + call.id + " (" + call.tool + ")";
    return all.empty() ? "none" : all;
}

/// Returns the answer to the question whether a call in doubt was executed. Throws InvalidArgumentError for what such
/// an answer cannot say.
Value answerToDoubt(const ThreadId& thread, const OpenCall& call, const Value& given, bool is_result) {
    const auto refuse = [&](const char* why) {
        throw InvalidArgumentError("it is not known whether the call '" + call.id + "' of the tool '" + call.tool +
                                       "' was executed, and " + why,
                                   {.thread_id = thread.toString()});
    };
    if (is_result) {
        const auto result = given.as<ClientResult>();
        if (result.is_error) refuse("its result says what it has done: say in `output` that it failed");
        return Value(std::map<std::string, Value>{{"result", result.output}});
    }
    const auto decision = given.as<Decision>();
    if (decision.approved && decision.arguments)
        refuse("it can only be repeated as it was begun: decline it, or give its result");
    if (decision.approved) return Value("repeat");
    std::string text = "It is not known whether the call was executed. It may have been, and is not repeated";
    text += decision.reason.empty() ? "." : ": " + decision.reason;
    return Value(std::map<std::string, Value>{{"result", Value(std::move(text))}});
}

/// Throws InvalidArgumentError for what does not answer the call.
Command<> answer(const OpenCall& call, const ThreadId& thread, Value given, bool is_result) {
    if (call.is_in_doubt) {
        given = answerToDoubt(thread, call, given, is_result);
    } else if (call.is_for_client != is_result) {
        throw InvalidArgumentError("the call '" + call.id + "' of the tool '" + call.tool + "' waits for " +
                                       (is_result ? "a decision; use decide()" : "a result; use give()"),
                                   {.thread_id = thread.toString()});
    }
    Command<> command;
    command.answers.push_back({call.interrupt_id, std::move(given)});
    return command;
}

}  // namespace

const OpenCall& detail::findCall(const std::vector<OpenCall>& open, const ThreadId& thread, std::string_view call_id) {
    const OpenCall* found = nullptr;
    for (const OpenCall& call : open) {
        if (call.id == call_id) return call;
        if (call.provider_id != call_id || call_id.empty()) continue;
        if (found != nullptr) {
            throw InvalidArgumentError("several open calls have the provider's id '" + std::string(call_id) +
                                           "'; name one by its own id. Open: " + textsOf(open),
                                       {.thread_id = thread.toString()});
        }
        found = &call;
    }
    if (found != nullptr) return *found;
    throw InvalidArgumentError(
        "no call '" + std::string(call_id) + "' waits for a decision or a result. Open: " + textsOf(open),
        {.thread_id = thread.toString()});
}

model::Message detail::unansweredCall(const OpenCall& call) {
    const char* why = model::broken_off;
    if (call.is_for_client) why = client_gave_nothing;
    if (!call.is_for_client && !call.is_in_doubt) why = not_approved_in_time;
    const model::ToolCall asked{call.id, call.provider_id, call.tool, {}};
    return model::toolResult(asked, Value(why), true);
}

std::vector<OpenCall> openCalls(const std::vector<Interrupt>& open) {
    std::vector<OpenCall> calls;
    for (const Interrupt& each : open) {
        if (auto call = openCallOf(each)) calls.push_back(std::move(*call));
    }
    return calls;
}

Command<> decide(const std::vector<OpenCall>& open, const ThreadId& thread, std::string_view call_id,
                 Decision decision) {
    return answer(detail::findCall(open, thread, call_id), thread, Value(decision), false);
}

Command<> give(const std::vector<OpenCall>& open, const ThreadId& thread, std::string_view call_id,
               ClientResult result) {
    return answer(detail::findCall(open, thread, call_id), thread, Value(result), true);
}

}  // namespace stategraph::agent
