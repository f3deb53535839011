#include "src/history/close_questions.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <stategraph/status.hpp>

#include "src/checkpoint/due_tasks.hpp"
#include "src/checkpoint/paths.hpp"
#include "src/commit/changed_records.hpp"
#include "src/commit/visit.hpp"

namespace stategraph::engine {
namespace {

using checkpoint::Records;
using Asked = std::pair<TaskId, std::uint64_t>;

bool asks(const Records::Record& stored) { return !stored.second.writes && !stored.second.interrupts.empty(); }

// Returns what the tasks at the newest checkpoint of the visit ask.
std::set<Asked> askedIn(BaseCheckpointSaver& saver, const LogName& log, const checkpoint::CommitFields& of) {
    const checkpoint::LoggedParent& outer = of.parents.back();
    CheckpointId head;
    const auto newest = findVisit(saver, log, {outer.checkpoint_ns, outer.id, outer.id}, head);
    std::set<Asked> asked;
    if (!newest) return asked;
    for (const auto& [path, record] : checkpoint::readRecords(log, newest->id, newest->writes)) {
        if (record.writes) continue;
        for (const auto& each : record.interrupts) asked.emplace(each.id, each.index);
    }
    return asked;
}

// Takes the questions out of the records, and returns the paths of those that have changed.
std::set<std::string_view> takeOut(const std::set<Asked>& asked, Records& records) {
    std::set<std::string_view> changed;
    for (auto& [path, record] : records) {
        if (record.writes) continue;
        const auto isClosed = [&asked](const auto& each) { return asked.contains({each.id, each.index}); };
        if (std::erase_if(record.interrupts, isClosed) == 0) continue;
        std::erase_if(record.answers, isClosed);
        changed.insert(path);
    }
    return changed;
}

// Returns whether a task that asked is due now, as after an edit of the thread itself. A failure is still to be shown.
bool isLeftEdited(const Records& records, const std::set<std::string_view>& changed) {
    const auto isDue = [&records](std::string_view path) {
        return checkpoint::openQuestions(*records.find(path)).empty();
    };
    const auto hasFailed = [](const auto& stored) { return stored.second.error && !stored.second.writes; };
    return std::ranges::any_of(changed, isDue) && std::ranges::none_of(records, hasFailed);
}

}  // namespace

void closeQuestions(BaseCheckpointSaver& saver, const LogName& log, const checkpoint::CommitFields& of, bool sync) {
    if (of.parents.empty() || !of.parents.front().checkpoint_ns.empty()) return;
    const LogName root{log.thread_id, ""};
    const auto tuple = saver.getTuple({.log = root});
    if (!tuple || tuple->id != of.parents.front().id) return;
    Records records = checkpoint::readRecords(root, tuple->id, tuple->writes);
    if (std::ranges::none_of(records, asks)) return;
    const std::set<std::string_view> closed = takeOut(askedIn(saver, log, of), records);
    if (closed.empty()) return;
    ChangedRecords changed(*tuple, records, closed);
    if (isLeftEdited(records, closed)) changed.noteRun(toString(Status::edited));
    saver.put({.log = root,
               .expected_head = tuple->head,
               .commits = {},
               .writes = changed.rows(),
               .sync = sync,
               .answers = true});
}

}  // namespace stategraph::engine
