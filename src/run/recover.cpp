#include <stategraph/recover.hpp>

#include <algorithm>
#include <chrono>

#include <stategraph/error.hpp>

#include "checkpoint/fold.hpp"
#include "src/run/invoke.hpp"

// Drives on what a process left behind.
namespace stategraph::detail {
namespace {

constexpr std::size_t page_size = 256;

struct Recovery {
    const Core& core;
    BaseCheckpointSaver& saver;
    const RecoverOptions& options;
    std::vector<RecoveredThread> threads;

    // Why a thread is not this graph's to run; empty if it is.
    std::string othersReason(const std::string& thread_id) const {
        if (options.other_versions) return {};
        const LogName log{thread_id, ""};
        auto tuple = saver.getTuple({.log = log});
        if (!tuple) return "it is gone";
        if (checkpoint::fold(log, std::move(*tuple)).graph == core.topology().fingerprint) return {};
        return "its newest checkpoint was made by another graph or version; RecoverOptions::other_versions takes such "
               "threads too";
    }

    void runOne(RecoveredThread& thread) const noexcept {
        try {
            thread.why = othersReason(thread.thread_id);
            if (!thread.why.empty()) return;
            RunConfig config = options.run;
            config.thread_id = thread.thread_id;
            config.checkpoint_id = {};
            config.checkpoint_ns = {};
            RunInput input;
            input.kind = RunInput::Kind::resume;
            thread.status = detail::run(core, std::move(input), config, nullptr).status;
        } catch (const ThreadBusyError&) {
            thread.why = "a run is under way on it in this process";
        } catch (...) {
            thread.error = std::current_exception();
            thread.why = describe(thread.error);
        }
    }
};

}  // namespace

RecoverReport recover(const Core& core, const RecoverOptions& options) {
    if (options.concurrency < 1) throw InvalidArgumentError("RecoverOptions::concurrency is 0; it must be at least 1");
    BaseCheckpointSaver* const saver = engine::saverOf(core);
    if (saver == nullptr)
        throw MissingCheckpointerError("there is nothing to recover: the graph was compiled without a checkpointer");
    RecoverReport report;
    const std::chrono::system_clock::time_point now = core.ids().now();
    UnfinishedQuery query{.reason = {}, .after_thread_id = {}, .limit = page_size};
    for (;;) {
        const std::vector<UnfinishedThread> found = saver->unfinishedThreads(query);
        Recovery recovery{core, *saver, options, {}};
        for (const UnfinishedThread& thread : found) {
            const bool wakes = thread.reason == Unfinished::sleeping && thread.wake_at <= now;
            const bool is_damaged = thread.reason == Unfinished::damaged;
            const bool was_edited = options.edited && thread.reason == Unfinished::edited;
            if (thread.reason != Unfinished::in_flight && !wakes && !was_edited && !is_damaged) continue;
            if (options.only && !options.only(thread)) continue;
            if (is_damaged) {
                CorruptCheckpointError error(thread.error);
                std::string why = "it is left alone: " + thread.error;
                report.push_back({.thread_id = thread.thread_id,
                                  .status = {},
                                  .error = std::make_exception_ptr(std::move(error)),
                                  .why = std::move(why)});
                continue;
            }
            recovery.threads.push_back({.thread_id = thread.thread_id, .status = {}, .error = {}, .why = {}});
        }
        const auto runOne = [](void* self, std::size_t i) {
            auto& all = *static_cast<Recovery*>(self);
            all.runOne(all.threads[i]);
        };
        core.executor().forEach(recovery.threads.size(), options.concurrency, runOne, &recovery);
        std::move(recovery.threads.begin(), recovery.threads.end(), std::back_inserter(report));
        if (found.size() < page_size) return report;
        query.after_thread_id = found.back().thread_id;
    }
}

}  // namespace stategraph::detail
