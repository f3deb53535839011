#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/saver.hpp>
#include <stategraph/unfinished.hpp>

/// The wrong statements in a saver's index of threads, as sentences, for one thread or for all. The status `unknown` is
/// never wrong.
inline std::vector<std::string> wrongInIndex(stategraph::BaseCheckpointSaver& saver,
                                             const std::optional<std::string>& thread_id = {}) {
    namespace sg = stategraph;
    std::vector<std::string> wrong;
    std::map<std::string, sg::ThreadOutlook> indexed;
    const auto threads = saver.newestThreads({.limit = 1'000'000});
    if (!threads) return wrong;
    for (const sg::IndexedThread& thread : *threads) {
        if (thread_id && thread.place.thread_id != *thread_id) continue;
        if (!indexed.emplace(thread.place.thread_id, thread.outlook).second)
            wrong.push_back(thread.place.thread_id + " is in the index twice");
    }
    for (const auto& head :
         saver.list({.thread_id = thread_id, .checkpoint_ns = "", .heads = true, .with_writes = true})) {
        const auto found = indexed.find(head.thread_id);
        if (found == indexed.end()) {
            wrong.push_back(head.thread_id + " is not in the index");
            continue;
        }
        const sg::ThreadOutlook outlook = found->second;
        indexed.erase(found);
        const auto thread = sg::unfinishedThread(head);
        const std::string status = thread ? toString(thread->reason) : "finished";
        if (outlook.status == sg::ThreadStatus::unknown) continue;
        if (toString(outlook.status) != status)
            wrong.push_back(head.thread_id + " is " + status + ", and the index says " + toString(outlook.status));
        if (thread && outlook.due != thread->wake_at) wrong.push_back(head.thread_id + " wakes at another time");
    }
    for (const auto& [name, outlook] : indexed) wrong.push_back(name + " is gone, and in the index");
    return wrong;
}
