#include <stategraph/serve/agent_endpoint.hpp>

#include <utility>

#include <stategraph/error.hpp>

#include "serve/decisions.hpp"

namespace stategraph::serve {

namespace {

class AgentEndpoint final : public GraphEndpoint<agent::State> {
public:
    AgentEndpoint(const agent::Agent& agent, EndpointOptions options)
        : GraphEndpoint(agent.graph(), std::move(options)), agent_(agent) {}

    Begin prepare(Operation operation, const ThreadId& thread, const Value& body) override {
        if (operation == Operation::start && !options().input_channels && !detail::saysText(body)) {
            throw InvalidArgumentError(
                "this agent takes \"text\" and \"files\"; \"input\" needs EndpointOptions::input_channels");
        }
        return GraphEndpoint::prepare(operation, thread, body);
    }

    bool hasEnded(const ThreadId& /*thread*/) override { return false; }
    bool takesTexts() const override { return true; }

protected:
    /// The agent checks the arguments that a person has changed.
    Command<> decisions(const ThreadId& thread, const Value& body) override {
        return decisionsBy(
            body, {.decide = [&](const std::string& call,
                                 agent::Decision decision) { return agent_.decide(thread, call, std::move(decision)); },
                   .give = [&](const std::string& call,
                               agent::ClientResult result) { return agent_.give(thread, call, std::move(result)); }});
    }

private:
    agent::Agent agent_;
};

}  // namespace

std::shared_ptr<Endpoint> endpoint(const agent::Agent& agent, EndpointOptions options) {
    return std::make_shared<AgentEndpoint>(agent, std::move(options));
}

}  // namespace stategraph::serve
