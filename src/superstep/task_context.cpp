#include "src/superstep/task_context.hpp"

#include <stategraph/error.hpp>

namespace stategraph::detail {

engine::HeldRun TaskContext::holdFor(const char* what) const {
    engine::HeldRun held = hold();
    if (held.env == nullptr)
        throw InvalidUpdateError(std::string("a router ") + what + " while its node's state is edited");
    return held;
}

void TaskContext::refuseState(const char* why) const {
    throw InvalidArgumentError("node '" + std::string(node()) + "' asks for its graph's state, " + why,
                               {.node = std::string(node())});
}

}  // namespace stategraph::detail
