#include <stategraph/serve/agent_endpoint.hpp>

#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/fields.hpp>

namespace stategraph::serve {

namespace {

struct Start {
    std::optional<std::string> text = {};
    std::optional<Value> input = {};
    static constexpr auto fields() {
        return stategraph::fields(field("text", &Start::text), field("input", &Start::input));
    }
};
struct Decide {
    std::string call_id = {};
    std::optional<bool> approved = {};
    std::string reason = {};
    std::optional<Value> arguments = {};
    std::optional<Value> output = {};
    bool is_error = false;
    static constexpr auto fields() {
        return stategraph::fields(field("call_id", &Decide::call_id), field("approved", &Decide::approved),
                                  field("reason", &Decide::reason, defaulted), field("arguments", &Decide::arguments),
                                  field("output", &Decide::output), field("is_error", &Decide::is_error, defaulted));
    }
};

/// There may be several at the same time, from a page that waited for all of them.
struct Decisions {
    std::vector<Decide> decisions = {};
    static constexpr auto fields() { return stategraph::fields(field("decisions", &Decisions::decisions)); }
};

class AgentEndpoint final : public GraphEndpoint<agent::State> {
public:
    AgentEndpoint(const agent::Agent& agent, EndpointOptions options)
        : GraphEndpoint(agent.graph(), std::move(options)), agent_(agent) {}

    Begin prepare(Operation operation, const ThreadId& thread, const Value& body) override {
        if (operation == Operation::start) return start(body);
        if (operation == Operation::decide) return decide(thread, body);
        return GraphEndpoint::prepare(operation, thread, body);
    }

private:
    Begin start(const Value& body) const {
        const auto given = body.asStrict<Start>();
        if (given.text.has_value() == given.input.has_value())
            throw InvalidArgumentError("give either \"text\" or \"input\"");
        if (given.text) return begin(agent::said(*given.text));
        return begin(Update<agent::State>::of(*given.input));
    }
    Begin decide(const ThreadId& thread, const Value& body) const {
        if (!body.as<std::map<std::string, Value>>().contains("decisions")) {
            return begin(answerOf(thread, body.asStrict<Decide>()));
        }
        // Ids that were used before are skipped, unless all were.
        Command<> answers;
        std::exception_ptr refused = std::make_exception_ptr(InvalidArgumentError("\"decisions\" is empty"));
        for (const Decide& each : body.asStrict<Decisions>().decisions) {
            try {
                const Command<> one = answerOf(thread, each);
                answers.answers.insert(answers.answers.end(), one.answers.begin(), one.answers.end());
            } catch (const InvalidArgumentError&) {
                refused = std::current_exception();
            }
        }
        if (answers.answers.empty()) std::rethrow_exception(refused);
        return begin(std::move(answers));
    }
    Command<> answerOf(const ThreadId& thread, const Decide& given) const {
        if (given.approved.has_value() == given.output.has_value()) {
            throw InvalidArgumentError("give either \"approved\" or \"output\"");
        }
        if (given.approved)
            return agent_.decide(thread, given.call_id, {*given.approved, given.reason, given.arguments});
        return agent_.give(thread, given.call_id, {*given.output, given.is_error});
    }

    agent::Agent agent_;
};

}  // namespace

std::shared_ptr<Endpoint> endpoint(const agent::Agent& agent, EndpointOptions options) {
    return std::make_shared<AgentEndpoint>(agent, std::move(options));
}

}  // namespace stategraph::serve
