#include <memory>
#include <string>
#include <utility>

#include <stategraph/agent/ready_middleware.hpp>
#include <stategraph/error.hpp>

namespace stategraph::agent {

namespace {

bool isUsedUp(const BudgetOptions& options, const ModelCall& call) {
    const model::UsageByModel used = call.state.threadUsage();
    if (options.tokens && used.total().totalTokens() >= *options.tokens) return true;
    if (!options.cost) return false;
    const model::Cost cost = model::costOf(used, call.prices);
    if (cost.money >= *options.cost) return true;
    if (cost.unpriced.empty()) return false;
    throw InvalidArgumentError("the budget '" + options.name + "' limits money, and the model '" +
                               cost.unpriced.front() + "' has no price; add it, or \"*\", to Options::prices");
}

}  // namespace

Middleware budget(BudgetOptions options) {
    if (!options.tokens && !options.cost)
        throw InvalidArgumentError("budget has no limit; set BudgetOptions::tokens or cost");
    std::string name = options.name;
    return {.name = std::move(name), .before_model = [options = std::move(options)](ModelCall& call) {
                if (isUsedUp(options, call)) call.end("budget");
            }};
}

}  // namespace stategraph::agent
