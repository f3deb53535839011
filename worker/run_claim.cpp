#include "worker/run_claim.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/unfinished.hpp>

#include "src/history/cancel_thread.hpp"

// Handles one claimed thread: determines what is to be done, does it, and returns the outcome.
namespace stategraph::workers {
namespace {

class ClaimedRun {
public:
    ClaimedRun(const Claim& claim, const detail::WorkerGraph* graph, BaseCheckpointSaver& saver,
               const std::shared_ptr<RunControl>& control, const WorkerOptions& options,
               const std::function<bool()>& isCancelled)
        : claim_(claim),
          graph_(graph),
          reader_(graph && graph->options().saver ? *graph->options().saver : saver),
          control_(control),
          options_(options),
          isCancelled_(isCancelled) {}

    Task<Release> run() const {
        if (claim_.is_cancelled) co_return cancel();
        if (claim_.attempts > options_.attempts_max)
            co_return left(WorkOutcome::set_aside,
                           "its workers ended or lost it " + std::to_string(claim_.attempts - 1) +
                               " times without progress, though they ran nothing else" +
                               (claim_.error.empty() ? std::string() : ". Before that: " + claim_.error));
        if (!claim_.unreadable.empty()) co_return left(WorkOutcome::set_aside, claim_.unreadable);
        if (!claim_.head.empty() && claim_.version != graph_->version()) {
            const auto found = graph_->check(reader_, claim_.thread_id);
            if (!found.empty()) co_return refuse(found.front());
        }
        const bool begins = claim_.state == WorkState::idle && claim_.input_number;
        // One that was woken has something due that somebody else has stored, since its last run had ended.
        if (claim_.state == WorkState::idle && !begins && !claim_.is_woken) co_return left(WorkOutcome::finished);
        if (!begins) {
            std::optional<Release> release = hasEnded();
            if (release) co_return std::move(*release);
        }
        const RunConfig run_config = config();
        Task<detail::WorkerRunEnd> run = begins ? graph_->start(claim_.input, run_config) : graph_->resume(run_config);
        const detail::WorkerRunEnd end = co_await std::move(run);
        co_return ended(end);
    }

    Release fail(const std::string& said, bool is_hopeless) const {
        if (is_hopeless || claim_.attempts >= options_.attempts_max) return left(WorkOutcome::set_aside, said);
        Release release = left(WorkOutcome::retry, said);
        release.delay = backoffAfter(claim_.attempts, options_);
        return release;
    }

private:
    Release left(WorkOutcome outcome, std::string error = {}) const {
        return {.thread_id = claim_.thread_id,
                .epoch = claim_.epoch,
                .outcome = outcome,
                .error = std::move(error),
                .version = graph_ ? graph_->version() : GraphFingerprint(),
                .uptime = claim_.uptime};
    }

    Release cancel() const {
        if (graph_ == nullptr || !cancelWithGraph()) (void)engine::cancelWithoutGraph(reader_, claim_.thread_id);
        return left(WorkOutcome::cancelled);
    }
    // Returns false if the graph cannot read the thread: it may be that of another version.
    bool cancelWithGraph() const {
        try {
            graph_->cancel(claim_.thread_id);
            return true;
        } catch (const ConcurrentUpdateError&) {
            throw;
        } catch (const SaverError&) {
            throw;
        } catch (const Error&) {
            return false;
        }
    }

    Release refuse(const IncompatibleThread& why) const {
        return left(WorkOutcome::refused,
                    "graph '" + graph_->name() + "' of " + options_.name + " cannot run it: " + why.why);
    }

    RunConfig config() const {
        RunConfig config = graph_->options().config;
        config.thread_id = claim_.thread_id;
        config.checkpoint_id = {};
        config.checkpoint_ns = {};
        config.control = control_;
        return config;
    }

    // Looks at the thread's newest checkpoint, because others may have answered, cancelled or run it. Returns none if
    // it is to be resumed.
    std::optional<Release> hasEnded() const {
        const auto heads = reader_.list(
            {.thread_id = claim_.thread_id, .checkpoint_ns = "", .limit = 1, .heads = true, .with_writes = true});
        const auto unfinished = heads.empty() ? std::nullopt : unfinishedThread(heads.front());
        if (!unfinished) return left(WorkOutcome::finished);
        switch (unfinished->reason) {
            case Status::interrupted:
            case Status::breakpoint:
                return left(WorkOutcome::waits);
            case Status::edited:
                if (!claim_.is_woken) return left(WorkOutcome::waits);
                break;
            case Status::damaged:
            case Status::sealed:
                return left(WorkOutcome::set_aside, unfinished->error);
            default:
                break;
        }
        return {};
    }

    Release ended(const detail::WorkerRunEnd& end) const {
        switch (end.status) {
            case Status::done:
                return left(WorkOutcome::finished);
            case Status::interrupted:
            case Status::breakpoint:
                return left(WorkOutcome::waits);
            case Status::sleeping: {
                Release release = left(WorkOutcome::sleeps);
                release.wake_at = end.wake_at;
                return release;
            }
            case Status::cancelled:
                return isCancelled_() ? cancel() : left(WorkOutcome::again);
            case Status::drained:
                return left(WorkOutcome::again);
            case Status::timed_out:
                return fail(
                    "the run took longer than its timeout; raise WorkerGraphOptions::config.timeout, or let its nodes "
                    "end",
                    false);
            default:
                return fail(std::string("the run ended as '") + toString(end.status) +
                                "', after which a worker does not know how to continue",
                            false);
        }
    }

    const Claim& claim_;
    const detail::WorkerGraph* const graph_;  // null only if it is to be cancelled
    BaseCheckpointSaver& reader_;
    const std::shared_ptr<RunControl>& control_;
    const WorkerOptions& options_;
    const std::function<bool()>& isCancelled_;
};

}  // namespace

Task<std::optional<Release>> runClaim(const Claim& claim, const detail::WorkerGraph* graph, BaseCheckpointSaver& saver,
                                      const std::shared_ptr<RunControl>& control, const WorkerOptions& options,
                                      const std::function<bool()>& isCancelled) {
    const ClaimedRun claimed(claim, graph, saver, control, options, isCancelled);
    try {
        Task<Release> run = claimed.run();
        Release release = co_await std::move(run);
        co_return release;
    } catch (const LeaseLostError&) {
        co_return std::nullopt;
    } catch (const GraphRecursionError&) {
        co_return claimed.fail(detail::describe(std::current_exception()), true);
    } catch (...) {
        co_return claimed.fail(detail::describe(std::current_exception()), false);
    }
}

std::chrono::milliseconds backoffAfter(std::int64_t attempts, const WorkerOptions& options) noexcept {
    std::chrono::milliseconds delay = std::min(options.backoff, options.backoff_max);
    for (std::int64_t i = 1; i < attempts && delay < options.backoff_max; ++i)
        delay = std::min(2 * delay, options.backoff_max);
    return delay;
}

}  // namespace stategraph::workers
