#include "serve/decisions.hpp"

#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <stategraph/agent/open_calls.hpp>
#include <stategraph/error.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/serve/endpoint.hpp>

namespace stategraph::serve {

namespace {

struct Decide {
    std::string call_id = {};
    std::optional<bool> approved = {};
    std::string reason = {};
    std::optional<Value> arguments = {};
    Value output = {};
    bool is_error = false;
    static constexpr auto fields() {
        return stategraph::fields(field("call_id", &Decide::call_id), field("approved", &Decide::approved),
                                  field("reason", &Decide::reason, defaulted), field("arguments", &Decide::arguments),
                                  field("output", &Decide::output, defaulted),
                                  field("is_error", &Decide::is_error, defaulted));
    }
};

/// There may be several at the same time, from a page that waited for all of them.
struct Decisions {
    std::vector<Value> decisions = {};
    static constexpr auto fields() { return stategraph::fields(field("decisions", &Decisions::decisions)); }
};

Command<> answerIn(const Value& answer, const AnswersCalls& by) {
    const auto given = answer.asStrict<Decide>();
    // A tool that gives nothing gives null.
    const bool is_null = !given.approved && answer.as<std::map<std::string, Value>>().contains("output");
    const bool has_output = is_null || !given.output.isNull();
    if (given.approved.has_value() == has_output) {
        throw InvalidArgumentError("give either \"approved\" or \"output\"");
    }
    if (given.approved) return by.decide(given.call_id, {*given.approved, given.reason, given.arguments});
    return by.give(given.call_id, {given.output, given.is_error});
}

/// A page shows a call twice if it was open in several responses, each with steps of its own, and decides about both at
/// once. The last decision counts.
void keepLast(std::vector<stategraph::Answer>& answers, stategraph::Answer&& answer) {
    std::erase_if(answers, [&](const stategraph::Answer& each) { return each.interrupt_id == answer.interrupt_id; });
    answers.push_back(std::move(answer));
}

}  // namespace

Command<> decisionsBy(const Value& body, const AnswersCalls& by) {
    if (!body.as<std::map<std::string, Value>>().contains("decisions")) return answerIn(body, by);
    // Ids that were used before are skipped, unless all were.
    Command<> answers;
    std::exception_ptr refused = std::make_exception_ptr(InvalidArgumentError("\"decisions\" is empty"));
    for (const Value& each : body.asStrict<Decisions>().decisions) {
        try {
            Command<> one = answerIn(each, by);
            for (stategraph::Answer& answer : one.answers) keepLast(answers.answers, std::move(answer));
        } catch (const InvalidArgumentError&) {
            refused = std::current_exception();
        }
    }
    if (answers.answers.empty()) std::rethrow_exception(refused);
    return answers;
}

Command<> detail::decisionsIn(const Value& body, const ThreadId& thread, const std::vector<Interrupt>& open) {
    const std::vector<agent::OpenCall> calls = agent::openCalls(open);
    return decisionsBy(
        body,
        {.decide = [&](const std::string& call,
                       agent::Decision decision) { return agent::decide(calls, thread, call, std::move(decision)); },
         .give = [&](const std::string& call,
                     agent::ClientResult result) { return agent::give(calls, thread, call, std::move(result)); }});
}

}  // namespace stategraph::serve
