#include "src/task/task_input.hpp"

namespace stategraph::engine {

TaskInput::TaskInput(TaskEnv& env, const Task& task, bool takes_state) : object_(env.state.values.object()) {
    if (takes_state) return;
    const Node& node = env.nodeOf(task);
    if (task.planned.is_send) {
        const PendingSend& send = *env.sendOf(task);
        payload_ = send.payload.empty() ? restorePayload(node, send.stored) : send.payload;
        object_ = payload_.get();
    } else if (node.projects) {
        part_.emplace(*node.action.input.schema);
        for (const SharedChannel& shared : node.projection) {
            const auto& outer = env.core().schema().channel(shared.outer);
            const auto& inner = part_->schema().channel(shared.inner);
            outer.behaviour->copy(part_->value(inner), env.state.values.value(outer));
        }
        object_ = part_->object();
    }
}

std::shared_ptr<const void> TaskInput::shared(TaskEnv& env, const Task& task, bool takes_state) {
    if (takes_state || (!task.planned.is_send && !env.nodeOf(task).projects)) return env.state.values.share();
    const auto input = std::make_shared<TaskInput>(env, task, false);
    return {input, input->get()};
}

}  // namespace stategraph::engine
