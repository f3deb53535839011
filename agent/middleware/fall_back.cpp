#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/ready_middleware.hpp>
#include <stategraph/error.hpp>

namespace stategraph::agent {

namespace {

using Models = std::vector<std::shared_ptr<const model::Model>>;

/// Returns the answer, or none if another model may be asked.
Task<std::optional<model::Reply>> answerOf(const NextModel& next, const ModelCall& call, bool is_last) {
    try {
        Task<model::Reply> answered = next();
        co_return co_await std::move(answered);
    } catch (const model::ModelError&) {
        if (is_last || call.hasReported()) throw;
    }
    co_return std::nullopt;
}

Task<model::Reply> fallingBack(std::shared_ptr<const Models> models, ModelCall& call, const NextModel& next) {
    for (std::size_t at = 0;; ++at) {
        Task<std::optional<model::Reply>> answered = answerOf(next, call, at == models->size());
        std::optional<model::Reply> reply = co_await std::move(answered);
        if (reply) co_return std::move(*reply);
        call.model = (*models)[at];
    }
}

}  // namespace

Middleware fallBack(std::vector<std::shared_ptr<const model::Model>> models, std::string name) {
    for (const auto& each : models) {
        if (!each) throw InvalidArgumentError("fallBack has a null among its models");
    }
    const auto shared = std::make_shared<const Models>(std::move(models));
    return {.name = std::move(name), .around_model = [shared](ModelCall& call, const NextModel& next) {
                return fallingBack(shared, call, next);
            }};
}

}  // namespace stategraph::agent
