#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>
#include <stategraph/workflow/run.hpp>

#include "workflow/drive.hpp"
#include "workflow/execution.hpp"
#include "workflow/flow_impl.hpp"
#include "workflow/listing.hpp"
#include "workflow/nested_execution.hpp"
#include "workflow/questions.hpp"
#include "workflow/refuse.hpp"
#include "workflow/request_context.hpp"
#include "workflow/snapshot.hpp"
#include "workflow/travel.hpp"

// Operations on runs. Each consists of a run, of an edit of the graph's thread, or of both.
namespace stategraph::workflow {
// The run ends by itself after the current step. That it is to end is stored before.
std::optional<bool> Flow::Impl::cancelLive(const std::string& run_id) const {
    std::vector<std::shared_ptr<Session>> sessions;
    {
        const stategraph::detail::LockGuard lock(mutex);
        const auto [begin, end] = live.equal_range(run_id);
        for (auto each = begin; each != end; ++each) sessions.push_back(each->second);
    }
    if (sessions.empty()) return {};
    for (const auto& session : sessions) session->stop.request_stop();
    if (!saver) return false;
    bool is_stored = false;
    for (const auto& session : sessions) {
        is_stored = session->storeCancel(
            [&] { return graph.cancelThread(threadOf(run_id), {.ends_run = false}) || is_stored; });
    }
    return is_stored;
}

std::vector<UnfinishedThread> Flow::Impl::sleepingThreads(std::chrono::system_clock::time_point until) const {
    constexpr std::size_t page_size = 256;
    const std::string prefix = threadNameOf("");
    UnfinishedQuery query{.reason = Status::sleeping};
    DueThreadsQuery page{.until = until, .after = {}, .limit = page_size};
    for (bool is_last = false; !is_last;) {
        const auto due = saver->dueThreads(page);
        if (!due) return saver->unfinishedThreads(query);  // the saver has no index
        for (const DueThread& thread : *due) {
            if (thread.thread_id.starts_with(prefix)) query.thread_ids.push_back(thread.thread_id);
        }
        is_last = due->size() < page_size;
        if (!is_last) page.after = due->back();
    }
    if (query.thread_ids.empty()) return {};
    return saver->unfinishedThreads(query);
}

// Only threads of this workflow are read; a store may have many others.
std::vector<UnfinishedThread> Flow::Impl::leftThreads() const {
    constexpr std::size_t page_size = 256;
    const std::string prefix = threadNameOf("");
    OpenThreadsQuery page{.statuses = Status::in_flight, .limit = page_size};
    std::vector<UnfinishedThread> left;
    for (;;) {
        auto open = saver->openThreads(page);
        if (!open) return saver->unfinishedThreads({.reason = Status::in_flight});  // the saver has no index
        const bool is_last = open->size() < page_size;
        if (!is_last) page.after_thread_id = open->back().place.thread_id;
        std::erase_if(*open, [&](const IndexedThread& each) { return !each.place.thread_id.starts_with(prefix); });
        ListQuery query{.checkpoint_ns = "", .heads = true, .with_writes = true};
        for (const IndexedThread& thread : *open) query.thread_ids.push_back(thread.place.thread_id);
        auto indexed = open->begin();
        for (const ListedCheckpoint& head : open->empty() ? std::vector<ListedCheckpoint>() : saver->list(query)) {
            while (indexed->place.thread_id != head.thread_id) ++indexed;  // some were deleted meanwhile
            auto thread = unfinishedThread(*saver, head, *indexed);
            if (thread && thread->reason == Status::in_flight) left.push_back(std::move(*thread));
        }
        if (is_last) return left;
    }
}

std::vector<Flow::DueRun> Flow::Impl::dueRuns(std::chrono::system_clock::time_point until) const {
    std::vector<DueRun> due;
    if (!saver) return due;
    const std::string prefix = threadNameOf("");
    const auto take = [&](const std::vector<UnfinishedThread>& threads) {
        for (const UnfinishedThread& thread : threads) {
            if (!thread.thread_id.starts_with(prefix) || (thread.wake_at && *thread.wake_at > until)) continue;
            DueRun one{thread.thread_id.substr(prefix.size()), thread.wake_at};
            const stategraph::detail::LockGuard lock(mutex);
            if (!live.contains(one.run_id)) due.push_back(std::move(one));
        }
    };
    // This is read first, because it finds sleeping threads that are not in the index.
    const std::vector<UnfinishedThread> left = leftThreads();
    take(sleepingThreads(until));
    take(left);
    return due;
}

namespace {

// Adds the records of what is under way, without which it would be forgotten where the run ends: sleeps, and workflows
// inside with what their steps have done. Returns whether they, or finished tasks, are more than the commit has.
bool addUnderWay(const Plan& plan, State& state, const std::vector<TaskSnapshot>& tasks) {
    bool is_more = false;
    for (const TaskSnapshot& task : tasks) {
        is_more = is_more || task.finished;
        const Place* const place = plan.findPlace(task.name);
        if (task.finished || place == nullptr || plan.entryOf(*place).kind == Entry::Kind::foreach) continue;
        if (plan.entryOf(*place).kind == Entry::Kind::sleep) {
            state.records.insert_or_assign(task.name, Record{.status = Word::waiting, .payload = state.data});
            is_more = true;
        } else if (const CallSnapshot* const call = place->nested ? newestCall(task) : nullptr) {
            const SnapshotData& inside = *call->state;
            State inner = inside.values_as_cbor.as<State>();
            (void)addUnderWay(*place->nested->plan, inner, inside.tasks);
            const auto before = state.records.find(task.name);
            const Entry::Kind kind = plan.entryOf(*place).kind;
            Record record;
            beginRecord(plan, before == state.records.end() ? nullptr : &before->second, state.data,
                        kind == Entry::Kind::dowhile || kind == Entry::Kind::dountil, record);
            record.status = Word::running;
            record.child = Value(inner);
            state.records.insert_or_assign(task.name, std::move(record));
            is_more = true;
        }
    }
    return is_more;
}

}  // namespace

// The view knows the sleeps of the workflow. Steps can sleep too, and workflows inside the elements of a list; of these
// only the thread knows whether everything that is due sleeps.
RunView Flow::Impl::viewAt(const StateSnapshot<State>& at) const {
    RunView view = viewOf(*plan, at.values, at);
    if (view.status == RunStatus::running && sleepsAt(at)) view.status = RunStatus::waiting;
    return view;
}

bool Flow::Impl::isCanceled(const std::string& run_id) const {
    if (!saver) return false;
    const auto at = read(run_id);
    return at.cancelled || at.values.status == Word::canceled;
}

bool Flow::Impl::sleepsAt(const SnapshotData& at) const {
    if (!saver) return false;
    const auto heads = saver->list({.thread_id = std::string(at.config.thread_id.view()),
                                    .checkpoint_ns = "",
                                    .heads = true,
                                    .with_writes = true});
    if (heads.empty() || heads.front().id != at.config.checkpoint_id) return false;
    const auto thread = unfinishedThread(heads.front());
    return thread && thread->reason == Status::sleeping;
}

// Makes an edit after which nothing is due. What was under way keeps its records.
void Flow::Impl::end(const std::string& run_id, bool ends_success) const {
    // Another process that continues the run between the reading and the edit makes progress with each attempt.
    constexpr int tries = 100;
    for (int left = tries;; --left) {
        try {
            return endAsRead(run_id, read(run_id, true), ends_success);
        } catch (const ThreadBusyError&) {
            throw;
        } catch (const ConcurrentUpdateError&) {
            if (left == 0) throw;
        }
    }
}

void Flow::Impl::endAsRead(const std::string& run_id, const StateSnapshot<State>& at, bool ends_success) const {
    if (!isStored(at) || (at.values.status == Word::success && !ends_success) || at.values.status == Word::failed ||
        at.values.status == Word::canceled)
        return;
    State state = at.values;
    Update<State> update{set<&State::status>(Word::canceled)};
    if (state.status == Word::none && addUnderWay(*plan, state, at.tasks)) {
        state.status = Word::canceled;
        update = updateOf(state);
    }
    graph.updateState({.thread_id = threadOf(run_id)}, std::move(update),
                      {.as_node = wait_node, .only_at = at.config.checkpoint_id});
}

// The right to end a run, which one caller of this process has at a time.
class Flow::Impl::Ending {
public:
    Ending(const Impl& flow, const std::string& run_id, bool unless_live) : flow_(flow), run_id_(run_id) {
        stategraph::detail::UniqueLock lock(flow_.mutex);
        flow_.ended.wait(lock.native(), [this]() SG_REQUIRES(flow_.mutex) { return !flow_.ending.contains(run_id_); });
        has_it_ = !unless_live || !flow_.live.contains(run_id_);
        if (has_it_) flow_.ending.insert(run_id_);
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    ~Ending() {
        if (!has_it_) return;
        const stategraph::detail::LockGuard lock(flow_.mutex);
        flow_.ending.erase(run_id_);
        flow_.ended.notify_all();
    }
    bool hasIt() const noexcept { return has_it_; }

private:
    const Impl& flow_;
    const std::string& run_id_;
    bool has_it_ = false;
};

void Flow::Impl::endAlone(const std::string& run_id, bool ends_success) const {
    const Ending ending(*this, run_id, false);
    end(run_id, ends_success);
}

bool Flow::Impl::endUnlessLive(const std::string& run_id) const {
    const Ending ending(*this, run_id, true);
    if (ending.hasIt()) end(run_id);
    return ending.hasIt();
}

Flow::Flow(Definition definition, const CompileOptions& options) {
    const auto plan = makePlan(definition, options);
    impl_ = std::make_shared<const Impl>(plan, options);
}

Values Flow::Impl::checkedState(const std::string& run_id, Values state) const {
    try {
        return plan->definition.state ? plan->definition.state(Value(state)).as<Values>() : std::move(state);
    } catch (const std::exception& error) {
        refuse(Refusal::invalid_state, run_id,
               std::string("its state is not what the workflow takes: ") + error.what());
    }
}

Values Flow::Impl::contextFor(const std::string& run_id, Values context) const {
    try {
        return checkedContext(plan->definition, std::move(context));
    } catch (const std::exception& error) {
        refuse(Refusal::invalid_context, run_id,
               std::string("its request context is not what the workflow takes: ") + error.what());
    }
}

RunInput Flow::Impl::startInput(const std::string& run_id, Value input, const RunOptions& options) const {
    const Definition& definition = plan->definition;
    const bool has_run = hasRun(run_id);
    if (has_run && options.only_new) refuse(Refusal::already_claimed, run_id, "it has been started before");
    State state;
    try {
        state.input = definition.input ? definition.input(std::move(input)) : std::move(input);
    } catch (const std::exception& error) {
        refuse(Refusal::invalid_input, run_id,
               std::string("its input is not what the workflow takes: ") + error.what());
    }
    state.shared = checkedState(run_id, options.state.value_or(Values()));
    state.data = state.input;
    state.is_single_step = options.single_step;
    state.context = contextFor(run_id, options.context);
    state.metadata = options.metadata;
    // Where the run begins again, all channels are written; so they are where nothing is stored before the end.
    if (has_run || (options.durability == Durability::exit && !options.only_new)) return updateOf(state);
    return Beginning{beginningOf(std::move(state))};
}

RunView Flow::start(const std::string& run_id, Value input, const RunOptions& options) const {
    return Drive(impl_, run_id, impl_->startInput(run_id, std::move(input), options), options,
                 options.only_new ? Claim::start : Claim::run)
        .run();
}

namespace {

// Returns whether a question has been answered, and its step has not gone on.
bool hasAnswer(const Plan& plan, const StateSnapshot<State>& at) {
    const auto interrupts = at.interrupts();
    return std::ranges::any_of(openQuestions(plan, at.values, true),
                               [&](const Question& each) { return each.is_due && !isAsked(each, interrupts); });
}

}  // namespace

std::variant<RunView, RunInput> Flow::Impl::restartInput(const std::string& run_id, const RunOptions& options) const {
    const auto at = read(run_id, true);
    RunView view = isStored(at) ? viewAt(at) : RunView();
    if (view.status == RunStatus::success || view.status == RunStatus::failed) return view;
    const bool is_under_way = view.status == RunStatus::running || view.status == RunStatus::waiting;
    // A graph that is a step can ask while the workflow next to it sleeps, and of several questions one can have its
    // answer, whose run died.
    if (!is_under_way && !(view.status == RunStatus::suspended && (sleepsAt(at) || hasAnswer(*plan, at)))) {
        refuse(Refusal::not_active, run_id, std::string("nothing of it was under way; it is ") + toString(view.status));
    }
    const CheckpointId only_at = at.config.checkpoint_id;
    std::string first_log = firstLogOf(*plan, at);
    if (at.values.is_single_step == options.single_step && options.context.empty())
        return RunInput(Continuation{only_at, std::move(first_log)});
    return RunInput(Resumption{.command = {.update = goingOnWith(run_id, at.values, options)},
                               .only_at = only_at,
                               .first_log = std::move(first_log)});
}

RunView Flow::restart(const std::string& run_id, const RunOptions& options) const {
    auto input = impl_->restartInput(run_id, options);
    if (auto* const view = std::get_if<RunView>(&input)) return std::move(*view);
    return Drive(impl_, run_id, std::get<RunInput>(std::move(input)), options, Claim::resume).run();
}

RunView Flow::cancel(const std::string& run_id) const {
    // A run that begins or ends between the two calls is found by one of them in the next attempt.
    constexpr int tries = 1000;
    std::optional<bool> is_stored;
    for (int left = tries; !(is_stored = impl_->cancelLive(run_id)); --left) {
        try {
            if (impl_->endUnlessLive(run_id)) break;
        } catch (const ThreadBusyError&) {
            if (left == 0) throw;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    RunView view = impl_->view(run_id);
    // The last step ended meanwhile, while the run was about to store that it is canceled. It is canceled nevertheless.
    if (is_stored == true && view.status == RunStatus::success) {
        view.status = RunStatus::canceled;
        view.result.reset();
    }
    return view;
}

Continuation Flow::Impl::travelTo(const std::string& run_id, const std::string& step, std::optional<Value> input,
                                  std::optional<Value> data, const RunOptions& options) const {
    const auto at = read(run_id, true);
    const std::vector<std::string> path = split(step);
    if (path.empty()) refuse(Refusal::invalid_target, run_id, "no step is named to which to travel");
    State state;
    if (isStored(at)) {
        if (viewAt(at).status == RunStatus::running) {
            refuse(Refusal::invalid_target, run_id,
                   "it is under way, or its process died; wait for its end, or cancel it");
        }
        state = at.values;
        // What a workflow inside has done before it began to wait.
        if (state.status == Word::none) (void)addUnderWay(*plan, state, at.tasks);
    } else {
        state.metadata = options.metadata;
    }
    Travel how{.run_id = run_id,
               .input = std::move(input),
               .data = std::move(data),
               .outputs = options.outputs,
               .is_new = !isStored(at)};
    if (options.state) how.state = checkedState(run_id, *options.state);
    const Targets to = travel(*plan, state, path, how);
    state.is_single_step = options.single_step;
    if (!options.context.empty() || how.is_new)
        state.context = contextFor(run_id, withEarlier(options.context, state.context));
    try {
        const Config edited = graph.updateState(
            {.thread_id = threadOf(run_id)}, updateOf(state),
            {.as_node = wait_node, .go_to = to, .only_new = !isStored(at), .only_at = at.config.checkpoint_id});
        return {edited.checkpoint_id};
    } catch (const ConcurrentUpdateError& error) {
        refuse(Refusal::already_claimed, run_id, error.message());
    }
}

RunView Flow::timeTravel(const std::string& run_id, const std::string& step, std::optional<Value> input,
                         std::optional<Value> data, const RunOptions& options) const {
    const Continuation to = impl_->travelTo(run_id, step, std::move(input), std::move(data), options);
    return Drive(impl_, run_id, to, options, Claim::run).run();
}

RunView Flow::get(const std::string& run_id, CheckpointId at) const { return impl_->view(run_id, at); }

std::string Flow::snapshot(const std::string& run_id, CheckpointId at) const {
    return snapshotJson(*impl_->plan, run_id, impl_->view(run_id, at));
}

std::vector<ListedRun> Flow::list(const RunQuery& query) const { return listRuns(*impl_, query); }

std::vector<Flow::DueRun> Flow::dueRuns(std::chrono::system_clock::time_point until) const {
    return impl_->dueRuns(until);
}

std::vector<CheckpointId> Flow::history(const std::string& run_id) const {
    std::vector<CheckpointId> ids;
    for (const auto& at : impl_->graph.getStateHistory({.thread_id = impl_->threadOf(run_id)}, {.values = false})) {
        ids.push_back(at.config.checkpoint_id);
    }
    return ids;
}

ThreadId Flow::threadOf(std::string_view run_id) const { return impl_->threadOf(run_id); }

std::unique_ptr<StreamHub> Flow::makeHub() const { return std::make_unique<StreamHub>(impl_->graph); }

}  // namespace stategraph::workflow
