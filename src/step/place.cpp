#include "src/step/place.hpp"

#include <utility>

#include "src/commit/ids.hpp"
#include "src/commit/task_record.hpp"

namespace stategraph::engine {

Place::Place(const detail::Core& graph, const Place& outer, std::string log_ns)
    : core(graph), thread_id(outer.thread_id), ns(std::move(log_ns)), path(outer.path) {
    const std::size_t cut = ns.rfind('|');
    path.push_back(cut == std::string::npos ? ns : ns.substr(cut + 1));
    // Each namespace is the beginning of the next one.
    const std::string_view own = ns;
    parents.reserve(outer.parents.size() + 1);
    for (const auto& each : outer.parents) parents.push_back({own.substr(0, each.checkpoint_ns.size()), each.id});
    parents.push_back({own.substr(0, outer.ns.size()), outer.checkpoint});
}

TaskId Place::idOf(Task& task) const {
    if (task.id.empty()) {
        const std::string own_path = pathOf(topology(), task.planned);
        task.id = makeTaskId({checkpoint, ns, step, nodeOf(task).stored_name, own_path});
    }
    return task.id;
}

}  // namespace stategraph::engine
