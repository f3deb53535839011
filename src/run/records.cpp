#include <algorithm>
#include <iterator>
#include <tuple>

#include <stategraph/error.hpp>

#include "checkpoint/comparisons.hpp"
#include "src/commit/task_record.hpp"
#include "src/run/questions.hpp"
#include "src/run/run.hpp"

// What is kept and told of a task: its record, its events. Called on the thread that ran it.
namespace stategraph::engine {

void TaskRecord::sortAnswers() {
    const auto place = [](const Interrupt& answer) { return std::tie(answer.id, answer.index); };
    std::stable_sort(answers.begin(), answers.end(), [&](const Interrupt& a, const Interrupt& b) { return place(a) < place(b); });
}

const Interrupt* TaskRecord::findAnswer(TaskId question, std::uint64_t index) const noexcept {
    const std::pair wanted(question, index);
    const auto found = std::lower_bound(answers.begin(), answers.end(), wanted, [](const Interrupt& each, const auto& place) {
        ++checkpoint::comparisons;
        return std::tie(each.id, each.index) < std::tie(place.first, place.second);
    });
    return found != answers.end() && found->id == question && found->index == index ? &*found : nullptr;
}

void Task::clear() {
    is_empty = true;
    progress = {};
    result.writes.clear();
    result.go_to.clear();
    result.to_parent = false;
    result.written = nullptr;
    routes.clear();
    if (record.stored || !record.empty()) record = {};
    id = {};
    if (has_extra_) {
        extra_ = {};
        has_extra_ = false;
    }
}

void Run::encodeSend(const Task& task, Encoder& out) const {
    const PendingSend& send = *sendOf(task);
    if (send.payload.empty()) {
        out.raw(send.stored);
    } else {
        send.payload.encode(out);
    }
}

// Answers live in the record of the outermost task, so that one write keeps them wherever they were asked for.
TaskRecord& Run::answersOf(Task& task) noexcept {
    TaskRecord* record = &task.record;
    for (const ParentLink* link = parent_; link != nullptr; link = link->run->parent_) record = &link->task->record;
    return *record;
}

std::optional<Value> Run::findAnswer(Task& task, TaskId id, std::uint64_t index, bool* is_new) {
    const std::lock_guard lock(shared_.answers_mutex);
    const TaskRecord& kept = answersOf(task);
    const Interrupt* const answer = kept.findAnswer(id, index);
    if (answer == nullptr) return {};
    if (is_new != nullptr) {
        // It was taken before where its asker went on to another question, or failed for another reason than a refused answer.
        const auto comesLater = [&](const Interrupt& asked) { return asked.id == id && asked.index > index; };
        const bool was_taken = (kept.error && !isRefusal(*kept.error)) || std::ranges::any_of(kept.interrupts, comesLater);
        *is_new = !was_taken || std::ranges::find(shared_.new_answers, std::pair(id, index)) != shared_.new_answers.end();
    }
    return answer->value;
}

void Run::noteCheck(const Interrupt& asked, std::string node, detail::AnswerCheck check) {
    const Run* root = this;
    while (root->parent_ != nullptr) root = root->parent_->run;
    root->core_.askedQuestions().add({shared_.config->thread_id.toString(), asked.id, asked.index}, {std::move(node), asked.key, check});
}

std::optional<Value> Run::takeOldAnswer(Task& task, const Value& question, std::uint64_t before, const Interrupt& now) {
    const std::lock_guard lock(shared_.answers_mutex);
    TaskRecord& kept = answersOf(task);
    const auto isOld = [&](const Interrupt& asked) { return asked.id == task.id && asked.index >= before && asked.value == question; };
    const auto asked = std::ranges::find_if(task.record.interrupts, isOld);
    if (asked == task.record.interrupts.end()) return {};
    const std::uint64_t index = asked->index;
    const auto isIt = [&](const Interrupt& each) { return each.id == task.id && each.index == index; };
    const auto answer = std::ranges::find_if(kept.answers, isIt);
    if (answer == kept.answers.end()) return {};
    for (auto* list : {&kept.answers, &kept.interrupts, &task.record.interrupts}) {
        for (Interrupt& each : *list) {
            if (isIt(each)) each = {now.id, now.index, std::move(each.value)};
        }
    }
    for (const Interrupt& each : kept.answers) {
        if (each.id == now.id && each.index == now.index) return each.value;
    }
    return {};
}

void Run::noteAsked(Task& task, const Interrupt& asked) {
    const std::lock_guard lock(shared_.answers_mutex);
    const auto place = [](const Interrupt& each) { return std::tie(each.key, each.id); };
    std::vector<Interrupt>& known = task.useExtra().asked_with_key;
    const auto at = std::ranges::lower_bound(known, place(asked), {}, place);
    if (at == known.end() || at->id != asked.id) known.insert(at, asked);
}

Interrupt Run::askedOf(const Task& task, TaskId id) const {
    const std::lock_guard lock(shared_.answers_mutex);
    return *std::ranges::find(task.extra().asked_with_key, id, &Interrupt::id);
}

std::optional<Interrupt> Run::firstAsked(const Task& task) const {
    const std::lock_guard lock(shared_.answers_mutex);
    const std::vector<Interrupt>& asked = task.extra().asked_with_key;
    if (asked.empty()) return {};
    return asked.front();
}

std::vector<Interrupt> Run::takeAsked(Task& task, Interrupt* last) {
    const std::lock_guard lock(shared_.answers_mutex);
    std::vector<Interrupt> asked;
    TaskExtra& extra = task.useExtra();
    for (const NodeCall& call : extra.calls) {
        asked.insert(asked.end(), call.asked.begin(), call.asked.end());
        if (call.wake_unix_ms && (!extra.wake_unix_ms || *call.wake_unix_ms < *extra.wake_unix_ms)) extra.wake_unix_ms = call.wake_unix_ms;
    }
    std::move(extra.asked_with_key.begin(), extra.asked_with_key.end(), std::back_inserter(asked));
    extra.asked_with_key.clear();
    const auto isLast = [last](const Interrupt& each) { return each.id == last->id && each.index == last->index; };
    if (last != nullptr && std::ranges::none_of(asked, isLast)) asked.push_back(std::move(*last));
    return asked;
}

void Run::withdrawAnswer(Task& task, TaskId id, std::uint64_t index) {
    const std::lock_guard lock(shared_.answers_mutex);
    std::erase_if(answersOf(task).answers, [&](const Interrupt& answer) { return answer.id == id && answer.index == index; });
}

std::string Run::encodeRecord(Task& task, bool finished) const {
    const auto view = [](const std::vector<Interrupt>& from) {
        std::vector<checkpoint::LoggedInterrupt> to;
        for (const Interrupt& each : from) to.push_back({each.id, each.index, each.value.bytes(), each.key});
        return to;
    };
    checkpoint::TaskFields fields;
    fields.node = nodeOf(task).stored_name;
    if (task.record.error) fields.error = *task.record.error;
    if (task.record.failure) {
        fields.failure = checkpoint::LoggedFailure{static_cast<std::uint64_t>(task.record.failure->attempts), task.record.failure->error};
    }
    fields.interrupts = view(task.record.interrupts);
    fields.answers = view(task.record.answers);
    std::string writes;
    std::vector<std::string> payloads;
    if (finished) {
        writes = encodeWriteList(core_.schema(), task.result.writes);
        fields.writes = writes;
        payloads = addRoutes(topology(), task.routes, fields);
    }
    std::string record;
    checkpoint::writeTask(place_.checkpoint, fields, record);
    return record;
}

void Run::storeRecord(Task& task, bool finished) {
    log_.putTask(place_.checkpoint, pathOf(topology(), task.planned), encodeRecord(task, finished));
    task.record.stored = true;
}

// How this run ended, or that it went on over such an end: for who looks for unfinished threads.
void Run::note(std::string_view end) {
    if (!hasSaver()) return;
    const auto storing = shared_.claim.storing();
    if (shared_.claim.isCancelled()) end = checkpoint::thread_cancelled;
    log_.putTask(place_.checkpoint, checkpoint::run_path, noteRecord(end));
    end_row_.says_running = end == checkpoint::run_goes_on;
}

std::string Run::noteRecord(std::string_view end) const {
    checkpoint::TaskFields fields;
    fields.node = end;
    std::string record;
    checkpoint::writeTask(place_.checkpoint, fields, record);
    return record;
}

// From the first superstep on: before it there may be nothing that could be cancelled.
void Run::takeCancels() {
    {
        const auto storing = shared_.claim.storing();
        end_row_.has_due = !plan_.empty();
    }
    shared_.claim.takeCancels([](void* run) { return static_cast<Run*>(run)->storeCancel(); }, this);
}

// On the thread of whoever cancels, while tasks may run. False: nothing is due, so the run has ended by itself.
bool Run::storeCancel() {
    if (end_row_.has_due) log_.putTask(place_.checkpoint, checkpoint::run_path, noteRecord(checkpoint::thread_cancelled));
    return end_row_.has_due;
}

// Whether what is stored says that the thread stopped, which is no longer so.
bool Run::mustNoteGoingOn() const {
    if (parent_ != nullptr) return false;
    return std::any_of(start_->records.begin(), start_->records.end(), [](const auto& stored) {
        const auto& [path, record] = stored;
        return path == checkpoint::run_path ? record.node != checkpoint::run_goes_on : record.error && !record.writes;
    });
}

void Run::storeEffect(const std::string& path, Effects::Entry entry) {
    Run* root = this;
    // The checkpoint that a task's name is made of must not be lost where its effect is kept.
    for (; root->parent_ != nullptr; root = root->parent_->run) root->log_.wait();
    if (root->hasSaver()) {
        checkpoint::TaskFields fields;
        fields.effect = checkpoint::LoggedEffect{.begun = entry.begun, .result = entry.result};
        std::string record;
        checkpoint::writeTask(root->place_.checkpoint, fields, record);
        root->log_.putTask(root->place_.checkpoint, path, record);
    }
    shared_.effects.set(path, std::move(entry));
}

// The one task of a superstep: what its commit and its events need, before its writes are applied and so lost.
void Run::prepareSingle(Task& task) {
    Drafts& drafts = superstep_->drafts();
    if (drafts.made || isQuiet()) return;
    drafts.made = true;
    if (log_.logsOperations()) drafts.writes = encodeCommitWrites(core_.schema(), task.result.writes, log_.snapshotIsDue());
    // Its commit says what it wrote, unless that will not stand right behind this checkpoint in the log.
    const bool apart = log_.logsOperations() ? log_.stored() != log_.head() : place_.checkpoint == log_.stored();
    if (hasSaver() && apart) drafts.record = encodeRecord(task, true);
    if (shared_.events->any()) {
        drafts.messages = shared_.events->messages(*this, task, task.attempt);
        drafts.update = shared_.events->update(*this, task, task.extra().is_cached);
        if (!task.extra().is_cached) drafts.end = shared_.events->taskEnds(*this, task, TaskStatus::finished);
    }
}

void Run::taskFinished(Task& task) {
    if (isQuiet()) return;
    if (superstep_->hasOneTask()) {
        Drafts& drafts = superstep_->drafts();
        prepareSingle(task);
        if (!drafts.record.empty()) {
            log_.putTaskWithCommit(place_.checkpoint, pathOf(topology(), task.planned), std::move(drafts.record));
        }
        for (StreamEvent& message : drafts.messages) shared_.events->emit(std::move(message));
        drafts.messages.clear();
        shared_.events->emit(std::move(drafts.update));
        shared_.events->emitTaskEnd(*this, std::move(drafts.end));
        return;
    }
    if (hasSaver()) storeRecord(task, true);
    if (shared_.events->any()) {
        for (StreamEvent& message : shared_.events->messages(*this, task, task.attempt)) shared_.events->emit(std::move(message));
        shared_.events->emit(shared_.events->update(*this, task, task.extra().is_cached));
        if (!task.extra().is_cached) shared_.events->emitTaskEnd(*this, shared_.events->taskEnds(*this, task, TaskStatus::finished));
    }
}

void Run::taskStopped(Task& task) noexcept {
    if (superstep_->hasOneTask()) superstep_->drafts().clear();  // only single tasks have any
    try {
        if (hasSaver() && !task.record.empty()) storeRecord(task, false);
        if (observation_) observeQuestions(task);
        if (!shared_.events->any()) return;
        if (!task.extra().asked.empty()) shared_.events->interrupted(*this, task, task.extra().asked);
        const TaskStatus how = task.progress.status();
        if (how == TaskStatus::failed || !task.extra().asked.empty()) {
            shared_.events->emitTaskEnd(*this, shared_.events->taskEnds(*this, task, how));
        }
    } catch (...) {
        task.progress.end(TaskStatus::failed);
        if (task.extra().failure == nullptr) task.useExtra().failure = std::current_exception();
    }
}

}  // namespace stategraph::engine
