#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/saver.hpp>

#include "inspect/thread_list.hpp"

// The queue of a PostgreSQL database, as data.
namespace stategraph::inspect {

/// How many threads of one queue there are of each standing (QueueStanding).
struct QueueCountsView {
    std::string queue;
    std::uint64_t ready = 0;
    std::uint64_t leased = 0;
    std::uint64_t later = 0;
    std::uint64_t sleeping = 0;
    std::uint64_t waiting = 0;
    std::uint64_t set_aside = 0;
    std::uint64_t unserved = 0;
    std::uint64_t inputs = 0;
    std::int64_t oldest_ms = 0;
    static constexpr auto fields() {
        return stategraph::fields(
            field("queue", &QueueCountsView::queue), field("ready", &QueueCountsView::ready),
            field("leased", &QueueCountsView::leased), field("later", &QueueCountsView::later),
            field("sleeping", &QueueCountsView::sleeping), field("waiting", &QueueCountsView::waiting),
            field("set_aside", &QueueCountsView::set_aside), field("unserved", &QueueCountsView::unserved),
            field("inputs", &QueueCountsView::inputs), field("oldest_ms", &QueueCountsView::oldest_ms));
    }
};

struct QueueWorkerView {
    std::string name;
    bool is_alive = false;
    std::vector<std::string> queues;
    std::vector<std::string> graphs;
    std::uint64_t slots = 0;
    std::uint64_t held = 0;
    std::string since;
    std::string until;
    static constexpr auto fields() {
        return stategraph::fields(field("name", &QueueWorkerView::name), field("is_alive", &QueueWorkerView::is_alive),
                                  field("queues", &QueueWorkerView::queues), field("graphs", &QueueWorkerView::graphs),
                                  field("slots", &QueueWorkerView::slots), field("held", &QueueWorkerView::held),
                                  field("since", &QueueWorkerView::since), field("until", &QueueWorkerView::until));
    }
};

struct QueuedThreadView {
    std::string thread_id;
    std::string queue;
    std::string graph;
    std::string standing;
    std::string since;
    std::optional<std::string> due;
    std::string worker;
    std::int64_t attempts = 0;
    std::int64_t inputs = 0;
    bool is_cancelled = false;
    /// Why it is where it is, and what happens next.
    std::string why;
    std::string error;
    static constexpr auto fields() {
        return stategraph::fields(
            field("thread_id", &QueuedThreadView::thread_id), field("queue", &QueuedThreadView::queue),
            field("graph", &QueuedThreadView::graph), field("standing", &QueuedThreadView::standing),
            field("since", &QueuedThreadView::since), field("due", &QueuedThreadView::due),
            field("worker", &QueuedThreadView::worker), field("attempts", &QueuedThreadView::attempts),
            field("inputs", &QueuedThreadView::inputs), field("is_cancelled", &QueuedThreadView::is_cancelled),
            field("why", &QueuedThreadView::why), field("error", &QueuedThreadView::error));
    }
};

/// A queue with a limit over all workers (QueueLimit).
struct QueueLimitView {
    std::string queue;
    std::optional<std::uint64_t> runs;
    std::optional<double> rate;
    std::uint64_t running = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("queue", &QueueLimitView::queue), field("runs", &QueueLimitView::runs),
                                  field("rate", &QueueLimitView::rate), field("running", &QueueLimitView::running));
    }
};

struct QueueView {
    std::vector<QueueCountsView> queues;
    std::vector<QueueWorkerView> workers;
    std::vector<QueueLimitView> limits;
    std::vector<QueuedThreadView> threads;
    static constexpr auto fields() {
        return stategraph::fields(field("queues", &QueueView::queues), field("workers", &QueueView::workers),
                                  field("limits", &QueueView::limits), field("threads", &QueueView::threads));
    }
};

/// What `standing` and `limit` select of the queue. Errors: InvalidArgumentError if the saver has no queue or there is
/// no such standing; SaverError if the program was built without queues.
QueueView readQueue(const std::shared_ptr<BaseCheckpointSaver>& saver, const std::optional<std::string>& standing,
                    std::size_t limit);

/// Gives threads that workers have set aside the status "set_aside", with the reason as their error. Does nothing if
/// the saver has no queue.
void markSetAside(const std::shared_ptr<BaseCheckpointSaver>& saver, std::vector<ThreadView>& threads);
/// The threads that were set aside, at most so many, in the order of names; none if the saver has no queue.
std::vector<ThreadView> threadsSetAside(const std::shared_ptr<BaseCheckpointSaver>& saver, std::size_t limit);

}  // namespace stategraph::inspect
