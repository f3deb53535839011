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
    std::vector<std::string_view> sends;
    for (const auto& send : commit.sends) sends.push_back(send.node);
    if (const auto* command = latest ? findRecord(records, command_path) : nullptr) {
        names.insert(names.end(), command->to.begin(), command->to.end());
        for (const auto& send : command->sends) sends.push_back(send.node);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::vector<DueTask> tasks;
    const auto add = [&](std::string_view name, std::string path) {
        DueTask task{std::string(name), std::string(name), std::move(path), nullptr, false};
        task.record = findRecord(records, task.path);
        task.finished = task.record != nullptr && task.record->writes.has_value();
        tasks.push_back(std::move(task));
    };
    for (const auto name : names) add(name, pullPath(name));
    for (std::size_t i = 0; i < sends.size(); ++i) add(sends[i], pushPath(i));
    return tasks;
}

}  // namespace stategraph::checkpoint
