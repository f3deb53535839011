#include "src/checkpoint/due_tasks.hpp"

#include <algorithm>

#include "src/checkpoint/paths.hpp"
#include "src/value/comparisons.hpp"

namespace stategraph::checkpoint {

Records::Records(std::vector<Record>&& records) : records_(std::move(records)) {
    const auto by_path = [](const Record& a, const Record& b) { return a.first < b.first; };
    // Savers list them in this order.
    if (!std::is_sorted(records_.begin(), records_.end(), by_path))
        std::stable_sort(records_.begin(), records_.end(), by_path);
}

TaskFields* Records::find(std::string_view path) noexcept {
    const auto found =
        std::lower_bound(records_.begin(), records_.end(), path, [](const Record& each, std::string_view wanted) {
            ++comparisons;
            return each.first < wanted;
        });
    return found == records_.end() || found->first != path ? nullptr : &found->second;
}

Records readRecords(const LogName& log, CheckpointId id, const std::vector<StoredWrite>& writes) {
    std::vector<Records::Record> records;
    records.reserve(writes.size());
    for (const auto& write : writes) {
        records.emplace_back(write.path, readTask({log.thread_id, log.checkpoint_ns, id, write.path}, write.bytes));
    }
    return Records(std::move(records));
}

bool saysCancelled(const Records& records) noexcept {
    const TaskFields* const run = findRecord(records, run_path);
    return run != nullptr && run->node == thread_cancelled;
}

std::vector<DueTask> dueTasks(const CommitFields& commit, const Records& records, bool latest) {
    std::vector<std::string_view> names(commit.next.begin(), commit.next.end());
    if (commit.input) names.emplace_back("__start__");
    std::vector<LoggedSend> sends = commit.sends;
    if (const auto* command = latest ? findRecord(records, command_path) : nullptr) {
        names.insert(names.end(), command->to.begin(), command->to.end());
        sends.insert(sends.end(), command->sends.begin(), command->sends.end());
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::vector<DueTask> tasks;
    const auto add = [&](std::string_view name, std::string path, std::optional<std::string_view> payload) {
        DueTask task{
            .name = std::string(name), .shown_name = std::string(name), .path = std::move(path), .payload = payload};
        task.record = findRecord(records, task.path);
        task.finished = task.record != nullptr && task.record->writes.has_value();
        tasks.push_back(std::move(task));
    };
    for (const auto name : names) add(name, pullPath(name), {});
    for (std::size_t i = 0; i < sends.size(); ++i) add(sends[i].node, pushPath(i), sends[i].payload);
    return tasks;
}

}  // namespace stategraph::checkpoint
