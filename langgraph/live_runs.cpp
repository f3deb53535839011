#include "langgraph/live_runs.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/delete_thread.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/run_request.hpp"
#include "langgraph/run_settle.hpp"
#include "langgraph/run_work.hpp"
#include "langgraph/thread_expiry.hpp"
#include "langgraph/thread_runs.hpp"
#include "langgraph/webhooks.hpp"
#include "serve/run_table.hpp"

// This file is longer than others, because all of it works on the lines of runs that one mutex guards.
namespace stategraph::langgraph {

namespace {

constexpr std::size_t ended_max = 10'000;

/// What is stored of a run that ends now.
RunRecord endOf(const LiveRun& run, const std::string& status) {
    RunRecord ended = run.record();
    ended.status = status;
    ended.updated_at = now();
    return ended;
}

/// What is held of a thread: not its own name, by which its runs hold it.
std::string holdOf(const std::string& thread_id) { return "langgraph-runs " + thread_id; }

bool isWaitingOrRunning(const std::shared_ptr<LiveRun>& run) { return !run->hasEnded(); }

}  // namespace

void removeThreadOf(const Service& service, const RunRecord& run) {
    if (const ServedGraph* const graph = service.graph(run.graph_id)) deleteWholeThread(graph->saver(), run.thread_id);
    service.records.removeThread(run.thread_id);
    service.runs->forgetThread(run.thread_id);
}

bool tryRemoveThread(Service& service, const ThreadRecord& thread,
                     const std::function<bool(const ThreadRecord& stored)>& still) {
    const ServedGraph* const graph = service.graph(thread.graphId());
    bool has_run = false;
    const auto remove = [&] {
        const std::optional<ThreadRecord> stored = service.records.thread(thread.thread_id);
        if (!stored || stored->created_at != thread.created_at || stored->owner != thread.owner) return;
        has_run = stored->graphId() != thread.graphId();  // its log is that of another graph
        if (has_run || (still && !still(*stored))) return;
        if (graph != nullptr) deleteWholeThread(graph->saver(), thread.thread_id);
        service.records.removeThread(thread.thread_id);
        service.records.store(endTtl(*stored));
        service.thread_feeds->forget(thread.owner, thread.thread_id);
        service.runs->forgetThread(thread.thread_id);
    };
    return service.runs->whileIdle(thread.thread_id, graph != nullptr ? &graph->saver() : nullptr, remove) && !has_run;
}

void removeThread(Service& service, const ThreadRecord& thread) {
    if (!tryRemoveThread(service, thread)) throw ApiError(409, "Thread is busy; cancel its runs before you delete it");
}

bool LiveRuns::hold(const std::string& thread_id, BaseCheckpointSaver& saver) {
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (closed_.contains(thread_id)) return false;
        if (lines_.contains(thread_id)) return true;
    }
    std::unique_ptr<ThreadHold> held = saver.tryHold(holdOf(thread_id));
    if (!held) return false;
    const stategraph::detail::LockGuard lock(mutex_);
    lines_[thread_id].hold = std::move(held);
    return true;
}

void LiveRuns::addLeftOvers(const std::vector<RunRecord>& left) {
    for (const RunRecord& each : left) {
        // Whoever had the thread may have ended the run since the record was read.
        std::optional<RunRecord> record = service_.records.run(each.thread_id, each.run_id);
        if (!record || record->hasEnded()) continue;
        ++record->attempt;
        std::optional<serve::Identity> who;
        if (!record->owner.empty()) who = serve::Identity{.name = record->owner};
        auto run = std::make_shared<LiveRun>(*std::move(record), service_.graphs.at(each.graph_id), std::move(who),
                                             detail::Work(), service_);
        const stategraph::detail::LockGuard lock(mutex_);
        lines_[each.thread_id].runs.push_back(run);
        runs_.insert_or_assign(each.run_id, std::move(run));
    }
}

void LiveRuns::adopt(const std::vector<RunRecord>& left) {
    const std::string& thread_id = left.front().thread_id;
    {
        const stategraph::detail::LockGuard holding(hold_mutex_);
        if (!ofThread(thread_id).empty()) return;
        if (!hold(thread_id, service_.graphs.at(left.front().graph_id)->saver())) return;
        addLeftOvers(left);
    }
    takeOut(nullptr, thread_id);
    beginFirst(thread_id);
}

bool LiveRuns::isBusy(const std::string& thread_id) {
    if (!ofThread(thread_id).empty()) return true;
    if (!service_.has_rivals) return false;
    std::vector<RunRecord> open = service_.records.openRuns(thread_id);
    std::erase_if(open, [](const RunRecord& each) { return each.hasEnded(); });
    if (open.empty()) return false;
    const auto is_served = [&](const RunRecord& each) { return service_.graph(each.graph_id) != nullptr; };
    if (std::ranges::all_of(open, is_served)) adopt(open);
    return true;
}

std::unique_ptr<ThreadHold> LiveRuns::close(const std::string& thread_id, BaseCheckpointSaver* saver) {
    const stategraph::detail::LockGuard holding(hold_mutex_);
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (closed_.contains(thread_id)) return {};
        // Runs that have ended may not have left yet.
        if (const auto line = lines_.find(thread_id); line != lines_.end()) {
            if (std::ranges::any_of(line->second.runs, isWaitingOrRunning) || !line->second.hold) return {};
            closed_.insert(thread_id);
            return std::move(line->second.hold);
        }
    }
    std::unique_ptr<ThreadHold> held =
        saver != nullptr ? saver->tryHold(holdOf(thread_id)) : std::make_unique<ThreadHold>();
    if (!held) return {};
    const stategraph::detail::LockGuard lock(mutex_);
    closed_.insert(thread_id);
    return held;
}

void LiveRuns::open(const std::string& thread_id, std::unique_ptr<ThreadHold> held) noexcept {
    const stategraph::detail::LockGuard holding(hold_mutex_);
    const std::unique_ptr<ThreadHold> ended = [&] {
        const stategraph::detail::LockGuard lock(mutex_);
        closed_.erase(thread_id);
        if (const auto line = lines_.find(thread_id); line != lines_.end()) line->second.hold = std::move(held);
        return std::move(held);
    }();
}

bool LiveRuns::whileIdle(const std::string& thread_id, BaseCheckpointSaver* saver, const std::function<void()>& work) {
    if (isBusy(thread_id)) return false;
    std::unique_ptr<ThreadHold> held = close(thread_id, saver);
    if (!held) return false;
    try {
        work();
    } catch (...) {
        open(thread_id, std::move(held));
        throw;
    }
    open(thread_id, std::move(held));
    return true;
}

std::vector<std::shared_ptr<LiveRun>> LiveRuns::enter(const std::shared_ptr<LiveRun>& run) {
    const RunRecord& asked = run->asked();
    (void)isBusy(asked.thread_id);  // what others have left comes before it
    const stategraph::detail::LockGuard holding(hold_mutex_);
    if (!hold(asked.thread_id, run->graph().saver()))
        throw ApiError(409,
                       "Another server of this store drives the runs of the thread, or the thread is being deleted; "
                       "ask that server, or try again when the runs have ended");
    const stategraph::detail::LockGuard lock(mutex_);
    Line& line = lines_[asked.thread_id];
    std::vector<std::shared_ptr<LiveRun>> others;
    std::ranges::copy_if(line.runs, std::back_inserter(others), isWaitingOrRunning);
    if (!others.empty() && asked.multitask_strategy == "reject")
        throw ApiError(409,
                       "Thread is already running a task. Wait for it to finish or choose a different multitask "
                       "strategy.");
    if (others.size() > service_.options.waiting_max)
        throw ApiError(409, "The thread has as many waiting runs as it may (ApiOptions::waiting_max)");
    line.runs.push_back(run);
    runs_.emplace(asked.run_id, run);
    entering_.insert(asked.run_id);
    if (asked.multitask_strategy != "interrupt" && asked.multitask_strategy != "rollback") others.clear();
    return others;
}

void LiveRuns::add(const std::shared_ptr<LiveRun>& run, const std::function<void()>& store) {
    const std::vector<std::shared_ptr<LiveRun>> replaced = enter(run);
    const std::string& run_id = run->asked().run_id;
    try {
        store();
    } catch (...) {
        {
            const stategraph::detail::LockGuard lock(mutex_);
            entering_.erase(run_id);
            runs_.erase(run_id);
        }
        takeOut(run, run->asked().thread_id);
        beginFirst(run->asked().thread_id);
        throw;
    }
    // What was cancelled before it was stored has been stored as it was asked for.
    if (run->isCancelled()) storeEnd(*run, endOf(*run, "interrupted"), {}, run->beginEnd());
    {
        const stategraph::detail::LockGuard lock(mutex_);
        entering_.erase(run_id);
    }
    for (const auto& each : replaced) {
        try {
            cancel(*each, run->asked().multitask_strategy == "rollback");
        } catch (const std::exception&) {  // it was told to stop; only the note for another process is missing
        }
    }
    beginFirst(run->asked().thread_id);
}

std::shared_ptr<LiveRun> LiveRuns::find(const std::string& run_id) const {
    const stategraph::detail::LockGuard lock(mutex_);
    const auto found = runs_.find(run_id);
    return found == runs_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<LiveRun>> LiveRuns::ofThread(const std::string& thread_id) const {
    std::vector<std::shared_ptr<LiveRun>> runs;
    const stategraph::detail::LockGuard lock(mutex_);
    const auto line = lines_.find(thread_id);
    if (line != lines_.end()) std::ranges::copy_if(line->second.runs, std::back_inserter(runs), isWaitingOrRunning);
    return runs;
}

void LiveRuns::cancel(LiveRun& run, bool rolls_back) {
    if (!run.cancel(rolls_back)) {
        // If the process dies before the run has stopped, the next one does not go on with it.
        const auto note = [rolls_back](RunRecord& stored) {
            stored.is_cancelled = true;
            stored.is_rolled_back |= rolls_back;
        };
        if (!run.hasEnded()) service_.records.editOpenRun(run.asked().thread_id, run.asked().run_id, note);
        return;
    }
    finish(run, "interrupted", {});
    if (const std::shared_ptr<LiveRun> shared = find(run.asked().run_id)) leave(shared);
}

void LiveRuns::begin(const std::shared_ptr<LiveRun>& run) {
    const std::shared_ptr<Service> service = service_.shared_from_this();
    beginThreadEvents(*service, *run);
    std::shared_ptr<RunControl> control =
        service->server.begin({.endpoint = run->graph().graph->endpoint(),
                               .name = run->graph().id,
                               .thread = ThreadId(run->asked().thread_id),
                               .identity = run->identity(),
                               .work = [service, run](RunConfig config) { return drive(service, run, config); },
                               .config = configOf(run->graph(), run->asked()),
                               .then = [service, run] { service->runs->leave(run); }});
    run->control(std::move(control));
}

std::shared_ptr<LiveRun> LiveRuns::nextOf(const std::string& thread_id, Line& line) {
    if (line.runs.front()->status() != "pending") return line.runs.front();
    const Clock::Time now = service_.clock->now();
    const auto due = std::ranges::find_if(line.runs, [&](const auto& each) { return each->beginsAt() <= now; });
    if (due != line.runs.end()) {
        std::rotate(line.runs.begin(), due, std::next(due));
        return line.runs.front();
    }
    const auto earliest = std::ranges::min_element(line.runs, {}, &LiveRun::beginsAt);
    const Clock::Time at = (*earliest)->beginsAt();
    const auto known = called_at_.find(thread_id);
    if (known != called_at_.end() && known->second <= at) return {};
    called_at_[thread_id] = at;
    service_.clock->callAt(at, [owner = service_.weak_from_this(), thread_id, at] {
        const std::shared_ptr<Service> service = owner.lock();
        if (!service) return;
        LiveRuns& runs = *service->runs;
        {
            const stategraph::detail::LockGuard lock(runs.mutex_);
            const auto called = runs.called_at_.find(thread_id);
            if (called != runs.called_at_.end() && called->second == at) runs.called_at_.erase(called);
        }
        runs.beginFirst(thread_id);
    });
    return {};
}

bool LiveRuns::beginFirst(const std::string& thread_id) noexcept {
    std::shared_ptr<LiveRun> first;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        const auto line = lines_.find(thread_id);
        if (line == lines_.end() || line->second.runs.empty()) return true;
        first = nextOf(thread_id, line->second);
        if (!first || entering_.contains(first->asked().run_id)) return true;
    }
    if (!first->begin()) return true;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        noteBegin(first);
    }
    try {
        begin(first);
    } catch (const serve::NotNowError&) {
        if (service_.server.isEnding()) {
            leaveOpen(*first);
            return true;
        }
        if (first->waitAgain()) {
            waitForPlace(thread_id);
            return false;
        }
        finish(*first, "interrupted", {});
        leave(first);
    } catch (const std::exception& why) {
        if (service_.server.isEnding()) {
            leaveOpen(*first);
            return true;
        }
        const serve::ErrorText told = service_.errorTexts(first->graph().id, thread_id);
        const std::string text = told ? told("The run could not begin", why.what()) : why.what();
        reportFailure(*first, {.name = "Error", .message = text});
        finish(*first, "error", failureResult({.name = "Error", .message = text}));
        leave(first);
    }
    return true;
}

void LiveRuns::waitForPlace(const std::string& thread_id) {
    {
        const stategraph::detail::LockGuard lock(mutex_);
        without_place_.push_back(thread_id);
        if (std::exchange(awaits_place_, true)) return;
    }
    service_.server.whenFree([owner = service_.weak_from_this()] {
        if (const auto service = owner.lock()) service->runs->beginWaiting();
    });
}

void LiveRuns::beginWaiting() noexcept {
    {
        const stategraph::detail::LockGuard lock(mutex_);
        awaits_place_ = false;
    }
    std::string thread_id;
    do {
        const stategraph::detail::LockGuard lock(mutex_);
        if (without_place_.empty()) return;
        thread_id = std::move(without_place_.front());
        without_place_.pop_front();
    } while (beginFirst(thread_id));
}

void LiveRuns::takeOut(const std::shared_ptr<LiveRun>& run, const std::string& thread_id) noexcept {
    const stategraph::detail::LockGuard holding(hold_mutex_);
    std::unique_ptr<ThreadHold> ended;  // is given back before anybody asks for it again
    const stategraph::detail::LockGuard lock(mutex_);
    const auto line = lines_.find(thread_id);
    if (line == lines_.end()) return;
    std::erase(line->second.runs, run);
    if (!line->second.runs.empty()) return;
    ended = std::move(line->second.hold);
    lines_.erase(line);
}

void LiveRuns::leave(const std::shared_ptr<LiveRun>& run) noexcept {
    takeOut(run, run->asked().thread_id);
    {
        const stategraph::detail::LockGuard lock(mutex_);
        remember(run);
    }
    beginFirst(run->asked().thread_id);
}

void LiveRuns::remember(const std::shared_ptr<LiveRun>& run) {
    if (!runs_.contains(run->asked().run_id)) return;
    ended_.push_back(run);
    service_.thread_feeds->trim();
    while (!ended_.empty() && (service_.feed_bytes->areTooMany() || ended_.size() > ended_max)) {
        const std::shared_ptr<LiveRun> oldest = std::move(ended_.front());
        ended_.pop_front();
        oldest->feed().forget();
        runs_.erase(oldest->asked().run_id);
        begun_.erase({oldest->asked().thread_id, oldest->order()});
    }
}

void LiveRuns::forgetThread(const std::string& thread_id) {
    const stategraph::detail::LockGuard lock(mutex_);
    begun_.erase(begun_.lower_bound({thread_id, 0}), begun_.upper_bound({thread_id, UINT64_MAX}));
}

void LiveRuns::forgetRun(const LiveRun& run) {
    const stategraph::detail::LockGuard lock(mutex_);
    begun_.erase({run.asked().thread_id, run.order()});
}

void LiveRuns::noteBegin(const std::shared_ptr<LiveRun>& run) {
    if (run->order() != 0) return;  // the server had no place for it, and it begins again
    run->order(++newest_order_);
    begun_.emplace(std::pair(run->asked().thread_id, run->order()), run);
    for (const auto& [number, listener] : listeners_) {
        if (listener.thread_id == run->asked().thread_id) listener.announce();
    }
}

std::shared_ptr<LiveRun> LiveRuns::begunAfter(const std::string& thread_id, std::uint64_t order) const {
    const stategraph::detail::LockGuard lock(mutex_);
    const auto next = begun_.upper_bound({thread_id, order});
    return next == begun_.end() || next->first.first != thread_id ? nullptr : next->second;
}

std::shared_ptr<LiveRun> LiveRuns::lastBegun(const std::string& thread_id) const {
    const stategraph::detail::LockGuard lock(mutex_);
    const auto after = begun_.upper_bound({thread_id, UINT64_MAX});
    if (after == begun_.begin() || std::prev(after)->first.first != thread_id) return {};
    return std::prev(after)->second;
}

std::uint64_t LiveRuns::listen(const std::string& thread_id, std::function<void()> announce) {
    const stategraph::detail::LockGuard lock(mutex_);
    listeners_.emplace(++next_listener_, Listener{thread_id, std::move(announce)});
    return next_listener_;
}

void LiveRuns::unlisten(std::uint64_t listener) {
    const stategraph::detail::LockGuard lock(mutex_);
    listeners_.erase(listener);
}

void LiveRuns::storeEnd(const LiveRun& run, const RunRecord& ended, const std::string& result,
                        bool is_rolled_back) noexcept {
    try {
        if (is_rolled_back) takeBack(service_, run.graph(), ended, OnBusy::wait);
        const auto touch = [&](ThreadRecord& thread) { thread.updated_at = ended.updated_at; };
        // The thread may have been deleted: nothing is left of its runs then.
        if (is_rolled_back) {
            if (!service_.records.editThread(ended.thread_id, touch, ApiRecords::Batch().remove(ended)))
                service_.records.store(ApiRecords::Batch().remove(ended));
            forgetRun(run);
        } else {
            const ApiRecords::Batch call = service_.webhooks->callOf(ended, result);
            if (!service_.records.editThread(ended.thread_id, touch, ApiRecords::Batch(call).put(ended)))
                service_.records.store(ApiRecords::Batch(call).remove(ended));
            service_.webhooks->send(ended);
        }
        if (ended.losesThread()) removeThreadOf(service_, ended);
    } catch (const std::exception& why) {  // the next process finds out from the log how it ended
        if (const serve::ErrorText told = service_.errorTexts(run.graph().id, ended.thread_id))
            (void)told("The end of a run was not stored", why.what());
    }
}

void LiveRuns::finish(LiveRun& run, const std::string& status, std::string result) noexcept {
    const bool is_rolled_back = run.beginEnd();
    const RunRecord record = endOf(run, status);
    // One that was cancelled while it waited is not reported: another one of the thread may be under way.
    const bool is_reported = run.threadEvents() || run.status() == "running";
    storeEnd(run, record, result, is_rolled_back);
    run.end(status, record.updated_at, std::move(result));
    if (is_reported) endThreadEvents(service_, run, status);
    run.feed().end(true);
}

}  // namespace stategraph::langgraph
