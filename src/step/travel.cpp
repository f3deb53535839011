#include "src/step/travel.hpp"

#include <stategraph/error.hpp>

#include "src/checkpoint/record.hpp"
#include "src/commit/resume_check.hpp"
#include "src/graph/namespaces.hpp"

namespace stategraph::engine {

std::vector<TravelStop> planTravel(const detail::Core& root, BaseCheckpointSaver& saver, const RunConfig& config) {
    const std::string& ns = config.checkpoint_ns;
    const ErrorContext context{.thread_id = config.thread_id.toString(),
                               .checkpoint_ns = ns,
                               .checkpoint_id = config.checkpoint_id.toString()};
    if (!config.checkpoint_id) {
        throw InvalidArgumentError("a run is to begin inside the subgraph '" + ns +
                                       "', and the config does not say at which of its checkpoints",
                                   context);
    }
    (void)resolveNamespace(root, ns);
    const LogName log{config.thread_id.view(), ns};
    auto tuple = saver.getTuple({.log = log, .checkpoint_id = config.checkpoint_id});
    if (!tuple)
        throw InvalidArgumentError(
            "there is no checkpoint " + config.checkpoint_id.toString() + " of the subgraph '" + ns + "'", context);
    const StoredCommit& stored = tuple->commits.back();
    const checkpoint::CommitFields commit = checkpoint::readCommit({log.thread_id, ns, stored.id}, stored.bytes);
    std::vector<TravelStop> stops;
    for (const auto& parent : commit.parents) stops.push_back({std::string(parent.checkpoint_ns), parent.id});
    if (stops.empty() || !stops.front().ns.empty()) {
        throw InvalidArgumentError(
            "the checkpoint does not say where the graph around it was, so no run can begin there", context);
    }
    stops.push_back({ns, config.checkpoint_id});
    for (const TravelStop& stop : stops) {
        const LogName at{log.thread_id, stop.ns};
        // The root's checkpoint is checked like that of any run, when it is loaded.
        const bool is_there = stop.ns.empty() ? saver.getTuple({.log = at, .checkpoint_id = stop.id}).has_value()
                                              : checkStop(resolveNamespace(root, stop.ns), saver, at, stop.id);
        if (is_there) continue;
        throw InvalidArgumentError("the checkpoint " + stop.id.toString() +
                                       " of the graph around it is not stored: it was pruned, or its run had the "
                                       "durability 'exit'. So no run can "
                                       "begin there",
                                   context);
    }
    return stops;
}

}  // namespace stategraph::engine
