#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "src/commit/ids.hpp"
#include "src/commit/restore.hpp"
#include "src/commit/task_record.hpp"
#include "src/run/run.hpp"

// What new input leaves unfinished, for nodes that say what became of it (detail::abandonedTasks).
namespace stategraph::engine {

// Notes for nodes what new input has left unfinished. It is read when the input is stored: until then, tasks of an
// earlier run may store what they have done, and afterwards they are refused. If a run before this one took input and
// has died before its nodes heard this, its part follows.
void Run::hearAbandoned() {
    const bool is_input = start_->kind == Start::Kind::input;
    if (!start_->from || start_->reruns() || start_->kind == Start::Kind::command) return;
    const checkpoint::CommitFields& from = start_->from->commit;
    std::optional<checkpoint::Folded> left;
    if (!is_input) {
        left = leftByInput(from, env_.plan);
    } else if (start_->abandons) {
        left = readAt(from.id);
    }
    while (left) {
        Schedule schedule;
        restoreSchedule(topology(), core().schema(), *left, schedule, GoneNodes::skip);
        std::vector<PlannedTask> due;
        plan(topology(), schedule, due);
        noteAbandonedTasks(schedule, due, *left);
        left = leftByInput(left->commit, due);
    }
}

std::optional<checkpoint::Folded> Run::readAt(CheckpointId id) {
    const LogName log{env_.place.thread_id, env_.place.ns};
    auto tuple = id ? env_.shared.saver->getTuple({.log = log, .checkpoint_id = id}) : std::nullopt;
    if (!tuple) return {};  // there is none, or it was pruned
    return checkpoint::fold(log, std::move(*tuple));
}

// If the nodes that hear it are due at a checkpoint, which is the input's or that after the superstep of START, this
// returns the checkpoint that the input has left.
std::optional<checkpoint::Folded> Run::leftByInput(const checkpoint::CommitFields& at,
                                                   const std::vector<PlannedTask>& due) {
    const std::vector<NodeIndex>& first = topology().nodes[topology().start].edges;
    const auto isFirst = [&](const PlannedTask& task) {
        return !task.is_send && (task.node == topology().start || std::ranges::find(first, task.node) != first.end());
    };
    if (due.empty() || !std::ranges::all_of(due, isFirst)) return {};
    if (at.source == Source::input) return readAt(at.parent);
    if (at.source != Source::loop) return {};
    const std::optional<checkpoint::Folded> before = readAt(at.parent);
    if (!before || before->commit.source != Source::input) return {};
    return readAt(before->commit.parent);
}

void Run::noteAbandonedTasks(const Schedule& schedule, const std::vector<PlannedTask>& due,
                             const checkpoint::Folded& from) {
    const std::string_view ns = env_.place.ns;
    const CheckpointId id = from.commit.id;
    const checkpoint::Records records =
        checkpoint::readRecords({env_.place.thread_id, std::string(ns)}, id, from.tuple.writes);
    const auto isEffect = [](const auto& stored) { return stored.first.starts_with(checkpoint::effect_prefix); };
    // If nothing of the superstep's effects is stored, the run may have stored none (Durability::exit).
    const bool stores_effects = std::ranges::any_of(records, isEffect);
    for (const PlannedTask& planned : due) {
        const std::string path = pathOf(topology(), planned);
        const auto* const record = checkpoint::findRecord(records, path);
        if (record != nullptr && record->writes) continue;
        using Begun = detail::AbandonedTask::Begun;
        Task task;
        task.planned = planned;
        task.id = makeTaskId({id, ns, from.commit.step + 1, env_.nodeOf(task).stored_name, path});
        detail::AbandonedTask& left = env_.shared.abandoned.emplace_back();
        left.node = env_.nodeOf(task).name;
        left.begun = stores_effects ? Begun::no : Begun::unknown;
        const std::string prefix = checkpoint::effectPath(task.id, "");
        for (const auto& [row, stored] : records) {
            if (!row.starts_with(prefix) || !stored.effect) continue;
            left.begun = Begun::yes;
            if (stored.effect->result)
                left.done.emplace(row.substr(prefix.size()), Value::fromCbor(std::string(*stored.effect->result)));
        }
        if (const PendingSend* const send = sendOf(schedule, task)) {
            std::string payload;
            Encoder out(payload);
            encodePayload(topology(), *send, out);
            left.payload = Value::fromCbor(std::move(payload));
        }
        if (record == nullptr) continue;
        for (const auto* const asked : checkpoint::openQuestions(*record))
            left.asked.push_back(Value::fromCbor(std::string(asked->value)));
        for (const auto& answer : record->answers) left.answers.push_back(Value::fromCbor(std::string(answer.value)));
    }
}

}  // namespace stategraph::engine
