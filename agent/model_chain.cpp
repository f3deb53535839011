#include "agent/model_chain.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/error.hpp>

namespace stategraph::agent {

void ModelCall::end(std::string reason) {
    if (reason.empty())
        throw InvalidArgumentError("the middleware '" + current_ +
                                   "' ended a turn without a reason; give ModelCall::end one");
    end_reason_ = std::move(reason);
}

Value ModelCall::kept() const {
    if (const auto written = written_.find(current_); written != written_.end()) return written->second;
    const auto found = state.kept.find(current_);
    return found != state.kept.end() ? found->second : Value();
}

void ModelCall::keep(Value value) { written_.insert_or_assign(current_, std::move(value)); }

Middleware beforeModel(std::function<void(ModelCall& call)> f, std::string name) {
    return {.name = std::move(name), .before_model = std::move(f)};
}

namespace detail {

ModelChain::ModelChain(const Plan& plan, const State& state, Runtime& runtime, model::ToolChoice choice)
    : plan_(plan), call_(state, runtime, plan.options.prices) {
    call_.model = plan.options.model;
    call_.instructions = plan.options.instructions;
    call_.tools = plan.names;
    call_.tool_choice = choice;
    call_.settings = plan.options.settings;
}

Task<model::Reply> ModelChain::runFrom(std::size_t at, const NextModel& ask) {
    if (at == plan_.options.middleware.size()) {
        Task<model::Reply> asked = ask();
        const std::shared_ptr<const model::Model> model = call_.model;
        model::Reply reply = co_await std::move(asked);
        call_.has_answer_ = true;
        call_.addUsage(model::usageOf(reply, *model));
        co_return reply;
    }
    const Middleware& hooks = plan_.options.middleware[at];
    enter(at);
    if (hooks.before_model) hooks.before_model(call_);
    if (call_.isEnded()) co_return model::Reply();
    const NextModel next = [this, at, &ask] { return runFrom(at + 1, ask); };
    Task<model::Reply> rest = hooks.around_model ? hooks.around_model(call_, next) : next();
    model::Reply reply = co_await std::move(rest);
    enter(at);
    if (!call_.isEnded()) call_.has_answer_ = true;
    if (hooks.after_model && call_.has_answer_) hooks.after_model(call_, reply);
    co_return reply;
}

std::vector<model::ToolDescription> ModelChain::offeredTools() const {
    if (!call_.model) throw InvalidArgumentError("middleware left a call of the model without a model");
    const auto has = [](const std::vector<std::string>& names, const std::string& tool) {
        return std::ranges::find(names, tool) != names.end();
    };
    for (const std::string& tool : call_.tools) {
        if (!has(plan_.names, tool))
            throw InvalidArgumentError("middleware offers the tool '" + tool + "', which the agent does not have");
    }
    if (!call_.required_tool.empty() && !has(call_.tools, call_.required_tool)) {
        throw InvalidArgumentError("middleware requires a call of the tool '" + call_.required_tool +
                                   "', which is not one of the tools of this call");
    }
    std::vector<model::ToolDescription> offered;
    for (const model::ToolDescription& tool : plan_.descriptions) {
        if (has(call_.tools, tool.name)) offered.push_back(tool);
    }
    return offered;
}

void ModelChain::addTo(Update<State>& update) const {
    if (!call_.usage_.isEmpty()) update.with(add(&State::usage, call_.usage_));
    if (!call_.written_.empty()) update.with(add(&State::kept, call_.written_));
}

}  // namespace detail

}  // namespace stategraph::agent
