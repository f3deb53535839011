#include <algorithm>

#include <stategraph/detail/thread_read.hpp>
#include <stategraph/error.hpp>
#include <stategraph/unfinished.hpp>

#include "src/checkpoint/paths.hpp"
#include "src/commit/open_questions.hpp"
#include "src/commit/restore.hpp"
#include "src/commit/thread_reading.hpp"
#include "src/commit/visit.hpp"
#include "src/history/checkpoint_view.hpp"
#include "src/history/history_saver.hpp"

// Reads a thread for a caller that resumes it afterwards.
namespace stategraph::engine {
namespace {

// Returns whether getState would return the stored values as they are, and the questions as the records have them.
bool isAsStored(const Records& records) {
    if (checkpoint::saysCancelled(records)) return false;
    return std::ranges::none_of(
        records, [](const auto& each) { return each.second.writes || each.first == checkpoint::command_path; });
}

std::shared_ptr<detail::ThreadRead> readThread(const detail::Core& core, BaseCheckpointSaver& saver,
                                               const LogName& log) {
    auto tuple = saver.getTuple({.log = log});
    if (!tuple || tuple->next) return nullptr;
    const auto read = std::make_shared<ThreadReading>(core.schema(), checkpoint::fold(log, std::move(*tuple)));
    Records records = readRecords(log, read->from.commit.id, read->from.tuple.writes);
    if (!isAsStored(records)) return nullptr;
    restoreState(read->from, read->state);
    read->checkpoint_id = read->from.commit.id;
    for (OpenQuestion& each : openQuestions(records)) read->open.push_back(std::move(each.asked));
    return read;
}

}  // namespace
}  // namespace stategraph::engine

namespace stategraph::detail {

Status threadStatus(const Core& core, const ThreadId& thread_id) {
    BaseCheckpointSaver& saver =
        engine::historySaver(core, {.thread_id = thread_id, .checkpoint_id = {}, .checkpoint_ns = {}});
    const auto open = saver.unfinishedThreads({.thread_ids = {thread_id.toString()}});
    if (!open.empty()) return open.front().reason;
    const LogName log{thread_id.view()};
    CheckpointId head;
    auto tuple = engine::findCurrent(saver, log, head);
    if (!tuple) return Status::done;
    const checkpoint::Folded at = checkpoint::fold(log, std::move(*tuple));
    const bool is_cancelled = checkpoint::saysCancelled(engine::readRecords(log, at.commit.id, at.tuple.writes));
    return is_cancelled ? Status::cancelled : Status::done;
}

std::shared_ptr<ThreadRead> readThread(const Core& core, const ThreadId& thread_id) {
    if (core.warmThreads() != nullptr) return nullptr;
    const Config config{.thread_id = thread_id};
    BaseCheckpointSaver& saver = engine::historySaver(core, config);
    try {
        return engine::readThread(core, saver, {.thread_id = thread_id.view()});
    } catch (Error& error) {
        error.addContext({.thread_id = thread_id.toString()});
        throw;
    }
}

}  // namespace stategraph::detail
