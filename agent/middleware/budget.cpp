#include <memory>
#include <string>
#include <utility>

#include <stategraph/agent/ready_middleware.hpp>
#include <stategraph/error.hpp>

namespace stategraph::agent {

namespace {

/// What is kept in the thread.
struct Spent {
    model::Usage earlier = {};  // by the turns before the one of `turn`
    model::Usage turn = {};
    static constexpr auto fields() {
        return stategraph::fields(field("earlier", &Spent::earlier), field("turn", &Spent::turn));
    }
};

Spent spentBefore(const ModelCall& call) {
    Spent spent = call.kept().isNull() ? Spent() : call.kept().as<Spent>();
    if (call.state.steps == 0) spent.earlier = spent.earlier + std::exchange(spent.turn, {});
    spent.turn = call.state.usage;
    return spent;
}

bool isUsedUp(const BudgetOptions& options, const model::Usage& usage) {
    if (options.tokens && usage.input_tokens + usage.output_tokens >= *options.tokens) return true;
    return options.cost && costOf(usage, options.price) >= *options.cost;
}

}  // namespace

double costOf(const model::Usage& usage, const Price& price) noexcept {
    constexpr double million = 1e6;
    const auto cached = static_cast<double>(usage.cached_tokens);
    const double other = static_cast<double>(usage.input_tokens) - cached;
    return (other * price.input + cached * price.cached_input.value_or(price.input) +
            static_cast<double>(usage.output_tokens) * price.output) /
           million;
}

Middleware budget(BudgetOptions options) {
    if (!options.tokens && !options.cost)
        throw InvalidArgumentError("budget has no limit; set BudgetOptions::tokens or cost");
    std::string name = options.name;
    return {.name = std::move(name),
            .before_model =
                [options](ModelCall& call) {
                    const Spent spent = spentBefore(call);
                    if (isUsedUp(options, spent.earlier + spent.turn)) call.end("budget");
                },
            .after_model =
                [](ModelCall& call, model::Reply& reply) {
                    Spent spent = spentBefore(call);
                    if (reply.message.usage) spent.turn = spent.turn + *reply.message.usage;
                    call.keep(Value(spent));
                }};
}

}  // namespace stategraph::agent
