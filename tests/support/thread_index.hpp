#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/thread_summary.hpp>
#include <stategraph/unfinished.hpp>

/// What a summary must say of a thread's newest checkpoint; empty: that is what it says.
inline std::string wrongInSummary(const stategraph::ThreadSummary& summary, const stategraph::ListedCheckpoint& head,
                                  const std::optional<stategraph::UnfinishedThread>& thread) {
    namespace sg = stategraph;
    const std::string cbor = sg::readHeader({head.thread_id, head.checkpoint_ns, head.id}, head.bytes).metadata;
    std::map<std::string, sg::Value> metadata;
    if (!cbor.empty()) metadata = sg::Value::fromCbor(cbor).as<std::map<std::string, sg::Value>>();
    if (summary.has_all_metadata != (summary.metadata.size() == metadata.size())) return "has other metadata";
    for (const auto& entry : summary.metadata) {
        const auto found = metadata.find(entry.key);
        if (found == metadata.end() || !(found->second == entry.value)) return "has no " + entry.key + " of this value";
    }
    std::vector<sg::Value> questions;
    if (thread) {
        for (const sg::Interrupt& asked : thread->interrupts) questions.push_back(asked.value);
    }
    if (summary.has_all_questions != (summary.questions.size() == questions.size())) return "asks something else";
    for (std::size_t i = 0; i < summary.questions.size(); ++i) {
        if (!(summary.questions[i] == questions[i])) return "asks " + summary.questions[i].toJson();
    }
    return {};
}

/// The wrong statements in a saver's index of threads, as sentences, for one thread or for all. The status `in_flight`
/// is never wrong.
inline std::vector<std::string> wrongInIndex(stategraph::BaseCheckpointSaver& saver,
                                             const std::optional<std::string>& thread_id = {}) {
    namespace sg = stategraph;
    std::vector<std::string> wrong;
    std::map<std::string, sg::ThreadOutlook> indexed;
    std::map<std::string, std::string> summaries;
    const auto threads = saver.newestThreads({.limit = 1'000'000, .with_summaries = true});
    if (!threads) return wrong;
    for (const sg::IndexedThread& thread : *threads) {
        if (thread_id && thread.place.thread_id != *thread_id) continue;
        if (!indexed.emplace(thread.place.thread_id, thread.outlook).second)
            wrong.push_back(thread.place.thread_id + " is in the index twice");
        summaries[thread.place.thread_id] = thread.summary.value_or("");
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
        const std::string status = thread ? toString(thread->reason) : toString(sg::Status::done);
        const std::string& summary = summaries[head.thread_id];
        if (outlook.status == sg::Status::in_flight) {
            if (!summary.empty()) wrong.push_back(head.thread_id + " is in flight, and has a summary");
            continue;
        }
        if (const auto read = sg::readThreadSummary(summary)) {
            const std::string other = wrongInSummary(*read, head, thread);
            if (!other.empty()) wrong.push_back(head.thread_id + ": its summary " + other);
        } else if (!summary.empty()) {
            wrong.push_back(head.thread_id + " has a summary that cannot be read");
        }
        if (toString(outlook.status) != status)
            wrong.push_back(head.thread_id + " is " + status + ", and the index says " + toString(outlook.status));
        if (thread && outlook.due != thread->wake_at) wrong.push_back(head.thread_id + " wakes at another time");
    }
    for (const auto& [name, outlook] : indexed) wrong.push_back(name + " is gone, and in the index");
    return wrong;
}
