#include <stategraph/recover.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/reading/find_unfinished.hpp"
#include "src/run/invoke.hpp"
#include "src/run/rival_runs.hpp"

// Resumes the runs that a dead process left unfinished.
namespace stategraph::detail {
namespace {

constexpr std::size_t page_size = 256;
constexpr int tries_max = 1000;  // each refusal is a commit of another process

struct Recovery {
    const Core& core;
    BaseCheckpointSaver& saver;
    const RecoverOptions& options;
    std::chrono::system_clock::time_point now = core.ids().now();
    RecoverReport report = {};
    std::vector<RecoveredThread> threads = {};  // the threads that are being recovered

    bool isLeft(const UnfinishedThread& thread) const {
        const bool wakes = thread.reason == Status::sleeping && thread.wake_at <= now;
        const bool was_edited = options.edited && thread.reason == Status::edited;
        return thread.reason == Status::in_flight || wakes || was_edited;
    }
    bool takes(const UnfinishedThread& thread) const {
        if (!isLeft(thread) && !Statuses::unreadable().has(thread.reason)) return false;
        return !options.only || options.only(thread);
    }
    bool isStillLeft(const std::string& thread_id) const {
        const auto found = saver.unfinishedThreads({.thread_ids = {thread_id}});
        return std::ranges::any_of(found, [this](const UnfinishedThread& thread) { return isLeft(thread); });
    }

    void leave(const UnfinishedThread& thread) {
        CorruptCheckpointError error(thread.error);
        std::string why = "it was not resumed: " + thread.error;
        report.push_back({.thread_id = thread.thread_id,
                          .status = {},
                          .error = std::make_exception_ptr(std::move(error)),
                          .why = std::move(why)});
    }

    void run(const std::vector<UnfinishedThread>& found) {
        threads.clear();
        for (const UnfinishedThread& thread : found) {
            if (!takes(thread)) continue;
            if (Statuses::unreadable().has(thread.reason)) {
                leave(thread);
            } else {
                threads.push_back({.thread_id = thread.thread_id, .status = {}, .error = {}, .why = {}});
            }
        }
        const auto runOne = [](void* self, std::size_t i) {
            auto& all = *static_cast<Recovery*>(self);
            all.runOne(all.threads[i]);
        };
        core.executor().forEach(threads.size(), options.concurrency, runOne, this);
        std::move(threads.begin(), threads.end(), std::back_inserter(report));
    }

    // Resumes threads that are in flight, or that were edited. If the saver has no index, it resumes all threads.
    void runOpen() {
        UnfinishedQuery query{.reason = {}, .after_thread_id = {}, .limit = page_size};
        Statuses statuses = Status::in_flight;
        if (options.edited) statuses = statuses | Status::edited;
        for (;;) {
            const std::vector<UnfinishedThread> found = checkpoint::findUnfinished(saver, query, statuses);
            run(found);
            if (found.size() < page_size) return;
            query.after_thread_id = found.back().thread_id;
        }
    }

    // Resumes threads that sleep and whose wake time has come. A thread that then sleeps again wakes later.
    void runDue() {
        std::set<std::string> taken;
        for (const RecoveredThread& thread : report) taken.insert(thread.thread_id);
        DueThreadsQuery query{.until = now, .after = {}, .limit = page_size};
        for (;;) {
            const auto due = saver.dueThreads(query);
            if (!due || due->empty()) return;
            UnfinishedQuery of;
            for (const DueThread& thread : *due) {
                if (taken.insert(thread.thread_id).second) of.thread_ids.push_back(thread.thread_id);
            }
            if (!of.thread_ids.empty()) run(saver.unfinishedThreads(of));
            if (due->size() < page_size) return;
            query.after = due->back();
        }
    }

    // Returns why a thread is not this graph's to run, or an empty text if it is.
    std::string othersReason(const std::string& thread_id) const {
        if (options.other_versions) return {};
        const LogName log{thread_id, ""};
        auto tuple = saver.getTuple({.log = log});
        if (!tuple) return "it no longer exists";
        if (checkpoint::fold(log, std::move(*tuple)).graph == core.topology().fingerprint) return {};
        return "its newest checkpoint was made by another graph or version; RecoverOptions::other_versions takes such "
               "threads too";
    }

    void runOne(RecoveredThread& thread) const noexcept {
        bool is_left = true;
        try {
            thread.why = othersReason(thread.thread_id);
            if (thread.why.empty()) thread.status = resume(thread.thread_id, is_left);
        } catch (const ThreadBusyError&) {
            thread.why = "a run is under way on it";
        } catch (...) {
            if (!is_left) {
                thread.why = "another run has continued it since it was found";
                return;
            }
            thread.error = std::current_exception();
            thread.why = describe(thread.error);
        }
    }

    // Returns none if a log cannot be read. If the run needs that log, it says so itself.
    std::optional<engine::RivalRuns> rivalsOn(const std::string& thread_id) const {
        try {
            return engine::RivalRuns(readState(core, {.thread_id = thread_id}, true, {}));
        } catch (const Error&) {
            return std::nullopt;
        }
    }

    // Sets `is_left` to false before it throws, if another run has ended or gone further on the thread.
    Status resume(const std::string& thread_id, bool& is_left) const {
        RunConfig config = options.run;
        config.thread_id = thread_id;
        config.checkpoint_id = {};
        config.checkpoint_ns = {};
        std::optional<engine::RivalRuns> rivals;
        // Since the thread was found, another run may have ended, and what waits now must not be executed.
        engine::RunCheck check{.check = [&] {
            is_left = isStillLeft(thread_id);
            if (!is_left) throw ThreadChangedError("it is not left any more");
            if (!rivals) rivals = rivalsOn(thread_id);
        }};
        for (int tries = 1;; ++tries) {
            try {
                RunInput input;
                input.kind = RunInput::Kind::resume;
                return runIf(core, std::move(input), config, check).status;
            } catch (const ThreadChangedError&) {
                if (tries > 1) is_left = false;
                throw;
            } catch (const ConcurrentUpdateError& refused) {
                if (!rivals || tries == tries_max || !rivals->resumesAfter(refused, check.reached)) throw;
                config.only_at = check.reached;
            }
        }
    }
};

}  // namespace

RecoverReport recover(const Core& core, const RecoverOptions& options) {
    if (options.concurrency < 1) throw InvalidArgumentError("RecoverOptions::concurrency is 0; it must be at least 1");
    BaseCheckpointSaver* const saver = engine::saverOf(core);
    if (saver == nullptr)
        throw MissingCheckpointerError("there is nothing to recover: the graph was compiled without a checkpointer");
    Recovery recovery{.core = core, .saver = *saver, .options = options};
    recovery.runOpen();
    recovery.runDue();
    return std::move(recovery.report);
}

}  // namespace stategraph::detail
