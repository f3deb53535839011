#include "checkpoint/due_tasks.hpp"

#include <algorithm>

#include "checkpoint/paths.hpp"

namespace stategraph::checkpoint {

Records readRecords(const LogName& log, CheckpointId id, const std::vector<StoredWrite>& writes) {
    Records records;
    for (const auto& write : writes) {
        records.emplace_back(write.path, readTask({log.thread_id, log.checkpoint_ns, id, write.path}, write.bytes));
    }
    return records;
}

const TaskFields* findRecord(const Records& records, std::string_view path) {
    const auto found = std::find_if(records.begin(), records.end(), [path](const auto& record) { return record.first == path; });
    return found == records.end() ? nullptr : &found->second;
}

std::vector<DueTask> dueTasks(const CommitFields& commit, const Records& records, bool latest) {
    std::vector<std::string_view> names(commit.next.begin(), commit.next.end());
    if (commit.input) names.push_back("__start__");
    std::vector<LoggedSend> sends = commit.sends;
    if (const auto* command = latest ? findRecord(records, command_path) : nullptr) {
        names.insert(names.end(), command->to.begin(), command->to.end());
        sends.insert(sends.end(), command->sends.begin(), command->sends.end());
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::vector<DueTask> tasks;
    const auto add = [&](std::string_view name, std::string path, std::optional<std::string_view> payload) {
        DueTask task{.name = std::string(name), .shown_name = std::string(name), .path = std::move(path), .payload = payload};
        task.record = findRecord(records, task.path);
        task.finished = task.record != nullptr && task.record->writes.has_value();
        tasks.push_back(std::move(task));
    };
    for (const auto name : names) add(name, pullPath(name), {});
    for (std::size_t i = 0; i < sends.size(); ++i) add(sends[i].node, pushPath(i), sends[i].payload);
    return tasks;
}

}  // namespace stategraph::checkpoint
