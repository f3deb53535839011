#include "src/reading/shown_names.hpp"

#include <stategraph/error.hpp>

namespace stategraph::reading {
namespace {

template <class Which>
std::optional<GraphDescription> findGraph(BaseCheckpointSaver& saver, const Which& which) {
    try {
        return readGraph(saver, which);
    } catch (const CorruptCheckpointError&) {
        return {};
    }
}

}  // namespace

ShownNames::ShownNames(BaseCheckpointSaver& saver, const Config& config) : graph_(findGraph(saver, config)) {}
ShownNames::ShownNames(BaseCheckpointSaver& saver, const GraphFingerprint& fingerprint)
    : graph_(findGraph(saver, fingerprint)) {}

void ShownNames::show(std::vector<checkpoint::DueTask>& due) const {
    if (!graph_) return;
    for (checkpoint::DueTask& task : due) task.shown_name = graph_->shownName(task.name);
}

}  // namespace stategraph::reading
