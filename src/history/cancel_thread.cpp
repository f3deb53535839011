#include "src/history/cancel_thread.hpp"

#include <chrono>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/error.hpp>

#include "src/checkpoint/thread_summary.hpp"
#include "src/commit/task_record.hpp"
#include "src/commit/visit.hpp"
#include "src/history/checkpoint_view.hpp"
#include "src/history/editor.hpp"
#include "src/history/history_saver.hpp"
#include "src/threads/thread_claim.hpp"
#include "src/value/times.hpp"

// cancelThread: cancels a thread, so that nothing of it is due any more.
namespace stategraph::detail {
namespace {

// For a thread that no run holds: stores a record next to its newest checkpoint. It does not take the thread's claim,
// so that a run that begins now is not refused. Returns none if another writer has written to the thread meanwhile.
std::optional<bool> noteCancel(BaseCheckpointSaver& saver, const LogName& log, bool sync) {
    CheckpointId head;
    auto tuple = engine::findCurrent(saver, log, head);
    if (!tuple) return false;
    const checkpoint::Folded at = checkpoint::fold(log, std::move(*tuple));
    const engine::Records records = engine::readRecords(log, at.commit.id, at.tuple.writes);
    if (checkpoint::saysCancelled(records) || checkpoint::dueTasks(at.commit, records, true).empty()) return false;
    checkpoint::TaskFields fields;
    fields.node = checkpoint::thread_cancelled;
    std::string record;
    checkpoint::writeTask(at.commit.id, fields, record);
    const WriteRow row{at.commit.id, checkpoint::run_path, record};
    const std::string summary = at.commit.id == head ? checkpoint::writeSummary(at.commit.metadata, {}) : std::string();
    try {
        saver.put({.log = log,
                   .expected_head = head,
                   .commits = {},
                   .writes = {&row, 1},
                   .sync = sync,
                   .outlook = {Status::done, {}},
                   .summary = summary});
    } catch (const ConcurrentUpdateError&) {
        return {};
    }
    return true;
}

// Lets the run that holds the thread store the cancel, or stores it itself if no run does.
bool storeCancel(BaseCheckpointSaver& saver, const LogName& log, bool sync,
                 std::chrono::steady_clock::time_point until) {
    bool was_noted = false;
    for (;;) {
        // The holder is asked even after the record has been put, because a run that had begun before would not know of
        // it.
        if (const auto of_run = engine::ThreadClaim::cancelHolder(saver, log.thread_id, false, until))
            return *of_run || was_noted;
        if (was_noted) return true;
        const std::optional<bool> noted = noteCancel(saver, log, sync);
        if (noted == false) return false;
        was_noted = noted.has_value();
    }
}

}  // namespace
}  // namespace stategraph::detail

bool stategraph::engine::cancelWithoutGraph(BaseCheckpointSaver& saver, std::string_view thread_id) {
    const auto until = std::chrono::steady_clock::now() + CancelOptions().busy_timeout;
    return detail::storeCancel(saver, {thread_id}, true, until);
}

namespace stategraph::detail {

bool cancelThread(const Core& core, const ThreadId& thread_id, const CancelOptions& options) {
    const Config config{.thread_id = thread_id, .checkpoint_id = {}, .checkpoint_ns = {}};
    BaseCheckpointSaver& saver = engine::historySaver(core, config);
    const auto until = times::after(std::chrono::steady_clock::now(), options.busy_timeout);
    try {
        if (!options.ends_run)
            return storeCancel(saver, {thread_id.view()}, options.durability == Durability::sync, until);
        for (;;) {
            const std::optional<bool> of_run = engine::ThreadClaim::cancelHolder(saver, thread_id.view(), true, until);
            if (of_run == false) return false;
            const bool was_stored = of_run.has_value();
            engine::ThreadClaim claim;
            try {
                claim.acquire(saver, thread_id.view(), was_stored ? OnBusy::replace : OnBusy::reject,
                              options.busy_timeout);
            } catch (const ThreadBusyError&) {
                if (was_stored) throw;
                continue;  // a run has begun meanwhile
            }
            return engine::Editor(core, core.ids(), saver, nullptr, config, options.durability).cancel();
        }
    } catch (Error& error) {
        error.addContext({.thread_id = thread_id.toString()});
        throw;
    }
}

}  // namespace stategraph::detail
