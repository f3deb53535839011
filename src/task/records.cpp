#include <algorithm>
#include <iterator>

#include <stategraph/error.hpp>

#include "src/commit/task_record.hpp"
#include "src/task/effect_put.hpp"
#include "src/task/task_env.hpp"
#include "src/value/times.hpp"

// Stores and reports a task: its record and its events. Called on the thread that ran it.
namespace stategraph::engine {
namespace {

// The row before an effect's; none for what was not claimed (begun), which may be replaced.
std::optional<std::string_view> expectedOf(const Effects::Entry& entry, const std::string& before) {
    if (entry.begun == 0) return {};
    return before;
}

}  // namespace

// Notes the times of a task that this run executes, up to now.
void TaskEnv::noteTimes(Task& task) const {
    if (task.progress.status() == TaskStatus::due || task.progress.status() == TaskStatus::restored) return;
    task.record.attempts = task.attempts();
    if (!measures()) return;
    const MomentUs began = superstep->hasOneTask() ? times.began() : task.began;
    task.record.took = checkpoint::LoggedTaskTime{.start_us = times.unixUs(began) - times::unixUs(place.checkpoint),
                                                  .took_us = times.now() - began};
}

std::string TaskEnv::encodeRecord(Task& task, bool finished) const {
    const auto view = [](const std::vector<Interrupt>& from) {
        std::vector<checkpoint::LoggedInterrupt> to;
        for (const Interrupt& each : from) to.push_back({each.id, each.index, each.value.bytes(), each.key});
        return to;
    };
    noteTimes(task);
    checkpoint::TaskFields fields;
    fields.node = nodeOf(task).stored_name;
    // A task that asks is executed again. If it asks the same, it stores the same bytes, because an answer expects the
    // record that was read.
    if (finished || task.record.interrupts.empty()) {
        fields.took = task.record.took;
        fields.attempts = task.record.attempts;
    }
    if (task.record.error) fields.error = *task.record.error;
    if (task.record.failure) {
        fields.failure = checkpoint::LoggedFailure{static_cast<std::uint64_t>(task.record.failure->attempts),
                                                   task.record.failure->error};
    }
    fields.interrupts = view(task.record.interrupts);
    fields.has_failed_since = task.progress.status() == TaskStatus::failed && !fields.interrupts.empty();
    fields.answers = view(task.record.answers);
    std::string writes;
    std::vector<std::string> payloads;
    if (finished) {
        writes = encodeWriteList(core().schema(), task.result.writes);
        fields.writes = writes;
        payloads = addRoutes(topology(), task.routes, fields);
    }
    std::string record;
    checkpoint::writeTask(place.checkpoint, fields, record);
    return record;
}

void TaskEnv::storeRecord(Task& task, bool finished) {
    std::string record = encodeRecord(task, finished);
    // The question of the only task is all that its thread waits for.
    const bool is_question = link == nullptr && !finished && superstep->hasOneTask() && !task.extra().asked.empty();
    const ThreadOutlook outlook{is_question ? Status::interrupted : Status::in_flight, {}};
    std::vector<std::string_view> questions;
    if (is_question) task.record.addOpenQuestions(questions);
    log.putTask({place.checkpoint, pathOf(topology(), task.planned), record, task.extra().stored_record},
                {outlook, questions});
    task.record.stored = true;
    task.useExtra().stored_record = std::move(record);
}

void TaskEnv::storeEffect(const std::string& path, Effects::Entry entry) {
    TaskEnv& outermost = waitForInnerCommits();
    if (outermost.hasSaver()) {
        const std::string before = outermost.encodeEffect(shared.effects.send(path, entry));
        const std::string record = outermost.encodeEffect(entry);
        try {
            outermost.log.putTaskNow({outermost.place.checkpoint, path, record, expectedOf(entry, before)});
        } catch (...) {
            shared.effects.forgetSent(path);
            if (isRefusal(std::current_exception())) shared.refusal.noteEffect(path);
            throw;
        }
    }
    shared.effects.set(path, std::move(entry));
}

std::shared_ptr<EffectPut> TaskEnv::storeEffectLater(const std::string& path, Effects::Entry entry) {
    TaskEnv& outermost = root();
    if (!outermost.hasSaver() || !outermost.log.putsEffectsLater()) {
        storeEffect(path, std::move(entry));
        return nullptr;
    }
    waitForInnerCommits();
    const std::string record = outermost.encodeEffect(entry);
    const std::string before = outermost.encodeEffect(shared.effects.send(path, entry));
    const auto expected = expectedOf(entry, before);
    try {
        auto put = std::make_shared<EffectPut>(shared.effects, shared.refusal, path, std::move(entry));
        outermost.log.putEffectLater({outermost.place.checkpoint, path, record, expected}, put);
        return put;
    } catch (...) {
        shared.effects.forgetSent(path);
        throw;
    }
}

// A task's name is derived from its checkpoint. The checkpoint must not be lost if the task's effect is kept. Returns
// the outermost environment.
TaskEnv& TaskEnv::waitForInnerCommits() {
    TaskEnv* outer = this;
    for (; outer->link != nullptr; outer = outer->link->env) outer->log.waitForCommits();
    return *outer;
}

// Returns an empty text for an effect that has not begun.
std::string TaskEnv::encodeEffect(const Effects::Entry& entry) const {
    if (entry.begun == 0 && !entry.result) return {};
    checkpoint::TaskFields fields;
    fields.effect = checkpoint::LoggedEffect{.begun = entry.begun, .result = entry.result};
    std::string record;
    checkpoint::writeTask(place.checkpoint, fields, record);
    return record;
}

// For the single task of a superstep: prepares what its commit and its events need, before its writes are applied and
// no longer available.
void TaskEnv::prepareSingle(Task& task) {
    Drafts& drafts = superstep->drafts();
    if (drafts.made || isQuiet()) return;
    drafts.made = true;
    if (log.logsOperations()) {
        encodeCommitWrites(core().schema(), task.result.writes, log.snapshotIsDue(), drafts.writes, drafts.items,
                           drafts.write_sizes);
        if (!drafts.items.empty()) log.operations().items = &drafts.items;
    }
    // The commit says what the task wrote, unless the commit does not directly follow this checkpoint in the log.
    const bool apart = log.logsOperations() ? log.stored() != log.head() : place.checkpoint == log.stored();
    if (hasSaver() && apart) drafts.record = encodeRecord(task, true);
    if (teller.any()) {
        drafts.messages = teller.messages(task, task.attempt);
        drafts.update = teller.update(task, task.extra().is_cached);
        if (!task.extra().is_cached) drafts.end = teller.taskEnds(task, TaskStatus::finished);
    }
}

void TaskEnv::taskFinished(Task& task) {
    if (isQuiet()) return;
    if (superstep->hasOneTask()) {
        Drafts& drafts = superstep->drafts();
        prepareSingle(task);
        if (!drafts.record.empty()) {
            log.putTaskWithCommit(
                {place.checkpoint, pathOf(topology(), task.planned), drafts.record, task.extra().stored_record});
        } else if (log.logsOperations() && !task.extra().stored_record.empty()) {
            log.compareWithCommit(place.checkpoint, pathOf(topology(), task.planned), task.extra().stored_record);
        }
        for (WrittenMessage& message : drafts.messages) teller.emit(std::move(message));
        drafts.messages.clear();
        teller.emit(std::move(drafts.update));
        teller.emitTaskEnd(std::move(drafts.end));
        return;
    }
    if (hasSaver()) storeRecord(task, true);
    if (teller.any()) {
        for (WrittenMessage& message : teller.messages(task, task.attempt)) teller.emit(std::move(message));
        teller.emit(teller.update(task, task.extra().is_cached));
        if (!task.extra().is_cached) teller.emitTaskEnd(teller.taskEnds(task, TaskStatus::finished));
    }
    std::string().swap(task.useExtra().stored_record);  // it is not replaced any more
}

void TaskEnv::taskStopped(Task& task) noexcept {
    if (superstep->hasOneTask()) superstep->drafts().clear();  // only single tasks have drafts
    try {
        if (hasSaver() && !task.record.empty() && !shared.refusal.isNoted()) storeRecord(task, false);
        if (observation) observeQuestions(task);
        if (!teller.any()) return;
        if (!task.extra().asked.empty()) teller.interrupted(task, task.extra().asked);
        const TaskStatus how = task.progress.status();
        if (how == TaskStatus::failed || !task.extra().asked.empty()) {
            teller.emitTaskEnd(teller.taskEnds(task, how));
        }
    } catch (...) {
        task.progress.end(TaskStatus::failed);
        if (task.extra().failure == nullptr) task.useExtra().failure = std::current_exception();
    }
}

void TaskEnv::observeQuestions(const Task& task) const noexcept {
    if (nodeOf(task).subgraph) return;  // the inner run has reported it
    for (const Interrupt& asked : task.extra().asked) {
        observation.tell(&Observer::interruptRaised,
                         InterruptRaised{observation.run(), place.step, nodeOf(task).name, asked});
    }
}

void TaskEnv::observeRetry(Task& task, int attempt, std::chrono::duration<double, std::milli> wait) const noexcept {
    observation.tell(&Observer::taskRetries, TaskRetry{observation.run(), nodeOf(task).name, task.id, attempt, wait});
}

}  // namespace stategraph::engine
