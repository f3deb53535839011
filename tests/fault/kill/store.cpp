#include "tests/fault/kill/store.hpp"

#include <algorithm>
#include <memory>

#include "tests/fault/kill/open.hpp"

namespace fault {
namespace {

void addTasks(const sg::SnapshotData& snapshot, Stored& into) {
    for (const auto& task : snapshot.tasks) {
        if (task.finished) into.finished.insert(task.id.toString());
        into.has_errors = into.has_errors || task.error.has_value();
        if (task.state) addTasks(*task.state, into);
    }
}

}  // namespace

std::string Stored::head(const std::string& ns) const {
    const auto found = logs.find(ns);
    return found == logs.end() ? std::string() : found->second.back().id;
}

bool Stored::has(const std::string& ns, const std::string& id) const {
    const auto found = logs.find(ns);
    return found != logs.end() && std::any_of(found->second.begin(), found->second.end(),
                                              [&](const Commit& commit) { return commit.id == id; });
}

Stored readStore(const std::filesystem::path& folder, bool read_only) {
    Stored stored;
    awaitQuiet(folder);
    if (!hasDatabase(folder)) return stored;  // killed before there was one
    Journal silent;
    const auto saver = openSaver(folder, read_only);
    for (const auto& listed : saver->list({.thread_id = thread_id})) {
        const auto header = sg::readHeader({listed.thread_id, listed.checkpoint_ns, listed.id}, listed.bytes);
        stored.logs[listed.checkpoint_ns].push_back(
            {header.id.toString(), header.parent ? header.parent.toString() : "", header.source, header.step});
    }
    for (auto& [ns, log] : stored.logs) std::reverse(log.begin(), log.end());
    const App app = makeApp(saver, silent);
    const auto snapshot = app.getState({.thread_id = thread_id}, {.subgraphs = true});
    addTasks(snapshot, stored);
    for (const auto& each : snapshot.interrupts()) stored.open.emplace(each.id.toString(), each.index);
    stored.next = snapshot.next;
    stored.inputs = snapshot.values.inputs.size();
    stored.step = snapshot.step;
    return stored;
}

Final readFinal(const std::filesystem::path& folder, const std::string& thread) {
    Journal silent;
    const App app = makeApp(openSaver(folder), silent);
    Final result;
    result.values = app.getState({.thread_id = thread}).valuesAsJson();
    result.keep = app.getState({.thread_id = thread, .checkpoint_id = {}, .checkpoint_ns = keep_ns}).valuesAsJson();
    for (const auto& snapshot : app.getStateHistory({.thread_id = thread})) {
        std::string line = std::to_string(snapshot.step) + " " + toString(snapshot.source) + " next:";
        for (const auto& node : snapshot.next) line += " " + node;
        result.history.push_back(line + " " + snapshot.valuesAsJson());
    }
    return result;
}

}  // namespace fault
