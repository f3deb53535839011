#include "workflow/kept_output.hpp"

#include <stategraph/cache.hpp>

namespace stategraph::workflow {
namespace {

// Steps with the same path, in workflows with the same id, share their outputs, even across processes.
std::string namespaceOf(const Plan& plan, const Place& place) {
    return "workflow " + plan.workflow + " " + place.path + " " + place.step->cache->version;
}

}  // namespace

std::optional<Value> keptOutput(const Plan& plan, const Place& place, const Value& input) noexcept {
    if (!place.step->cache || !plan.cache) return {};
    try {
        auto kept = plan.cache->get(namespaceOf(plan, place), input.bytes());
        if (!kept) return {};
        return Value::fromCbor(std::move(*kept));
    } catch (...) {
        return {};
    }
}

void keepOutput(const Plan& plan, const Place& place, const Value& input, const Value& output) noexcept {
    if (!place.step->cache || !plan.cache) return;
    try {
        plan.cache->set(namespaceOf(plan, place), input.bytes(), output.bytes(), place.step->cache->ttl);
    } catch (...) {
        // The step has its output in spite of this failure.
    }
}

}  // namespace stategraph::workflow
