#include "src/run/task_input.hpp"

namespace stategraph::engine {

TaskInput::TaskInput(Run& run, const Task& task, bool takes_state) : object_(run.state().object()) {
    if (takes_state) return;
    const Node& node = run.nodeOf(task);
    if (task.planned.is_send) {
        const PendingSend& send = run.schedule_.sends[task.planned.send];
        payload_ = send.payload.empty() ? restorePayload(node, send.stored) : send.payload;
        object_ = payload_.get();
    } else if (node.projects) {
        part_.emplace(*node.action.input.schema);
        for (const SharedChannel& shared : node.projection) {
            const auto& outer = run.core().schema().channel(shared.outer);
            const auto& inner = part_->schema().channel(shared.inner);
            outer.behaviour->copy(part_->value(inner), run.state().value(outer));
        }
        object_ = part_->object();
    }
}

std::shared_ptr<const void> TaskInput::shared(Run& run, const Task& task, bool takes_state) {
    if (takes_state || (!task.planned.is_send && !run.nodeOf(task).projects)) return run.state().share();
    const auto input = std::make_shared<TaskInput>(run, task, false);
    return {input, input->get()};
}

}  // namespace stategraph::engine
