#include <stategraph/worker.hpp>

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <set>
#include <utility>

#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_listener.hpp>

#include "worker/keeper.hpp"
#include "worker/lease_queue.hpp"
#include "worker/threads.hpp"

// The functions that users call, and the options. The loop is in keeper.cpp, and the slots are in slots.cpp.
namespace stategraph {
namespace {

constexpr std::size_t slots_max = 10'000;
constexpr int weight_max = 1'000;

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
    throw InvalidArgumentError("WorkerOptions::" + name + " " + what);
}

void checkTime(const char* name, std::chrono::milliseconds time, std::chrono::milliseconds least,
               std::chrono::milliseconds most) {
    if (time >= least && time <= most) return;
    refuse(name, "is " + std::to_string(time.count()) + " ms; it must be " + std::to_string(least.count()) + " to " +
                     std::to_string(most.count()));
}

void checkQueues(const std::vector<WorkerQueue>& queues) {
    if (queues.empty()) refuse("queues", "is empty; name at least one");
    std::set<std::string_view> names;
    for (const WorkerQueue& queue : queues) {
        if (queue.name.empty() || queue.name.size() > PostgresQueue::name_bytes_max)
            refuse("queues", "has a name of " + std::to_string(queue.name.size()) + " bytes; it must have 1 to " +
                                 std::to_string(PostgresQueue::name_bytes_max));
        if (queue.name.find('*') < queue.name.size() - 1)
            refuse("queues", "has '" + queue.name + "'; a `*` may only be the end of a name, and stands for any");
        if (!names.insert(queue.name).second) refuse("queues", "has '" + queue.name + "' twice");
        if (queue.weight < 1 || queue.weight > weight_max)
            refuse("queues", "has '" + queue.name + "' with weight " + std::to_string(queue.weight) +
                                 "; it must be 1 to " + std::to_string(weight_max));
        if (queue.limit == std::size_t{0})
            refuse("queues", "has '" + queue.name + "' with limit 0; it must be at least 1");
    }
}

WorkerOptions checked(WorkerOptions options) {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    if (options.name.empty()) options.name = workers::ownName();
    if (options.name.size() > PostgresQueue::name_bytes_max)
        refuse("name", "has " + std::to_string(options.name.size()) + " bytes; it may have " +
                           std::to_string(PostgresQueue::name_bytes_max));
    checkQueues(options.queues);
    if (options.slots < 1 || options.slots > slots_max)
        refuse("slots", "is " + std::to_string(options.slots) + "; it must be 1 to " + std::to_string(slots_max));
    if (options.attempts_max < 1)
        refuse("attempts_max", "is " + std::to_string(options.attempts_max) + "; it must be at least 1");
    checkTime("lease", options.lease, std::chrono::seconds(1), hours(24));
    checkTime("poll_interval", options.poll_interval, milliseconds(1), hours(24));
    checkTime("backoff", options.backoff, milliseconds(0), hours(24 * 365));
    checkTime("backoff_max", options.backoff_max, milliseconds(0), hours(24 * 365));
    checkTime("drain_timeout", options.drain_timeout, milliseconds(0), hours(24));
    checkTime("keys_kept", options.keys_kept, std::chrono::seconds(1), hours(24 * 3650));
    ClaimRequest request{.worker = options.name, .lease = options.lease};
    for (const WorkerQueue& queue : options.queues) request.queues.push_back({queue.name, 1, {}});
    PostgresQueue::checkClaim(request);
    return options;
}

std::shared_ptr<LeasedSaver> notNull(std::shared_ptr<LeasedSaver> saver) {
    if (!saver) throw InvalidArgumentError("a Worker needs a LeasedSaver, and was given none");
    return saver;
}

}  // namespace

std::string workers::ownName() {
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    return std::string(host) + ":" + std::to_string(::getpid());
}

struct Worker::Impl {
    void run();

    Impl(std::shared_ptr<LeasedSaver> given_saver, WorkerOptions given_options)
        : saver(notNull(std::move(given_saver))),
          queue(saver->saver()),
          leases(queue, *saver),
          keeper(leases, *saver, threads, checked(std::move(given_options))) {}

    std::atomic<bool> is_under_way{false};  // `run`
    const std::shared_ptr<LeasedSaver> saver;
    PostgresQueue queue;
    workers::PostgresLeases leases;
    workers::SystemThreads threads;
    workers::Keeper keeper;
};

void Worker::Impl::run() {
    const struct UnderWay {
        explicit UnderWay(std::atomic<bool>& given) : flag(given) { flag = true; }
        ~UnderWay() { flag = false; }
        std::atomic<bool>& flag;
    } under_way(is_under_way);
    std::unique_ptr<PostgresListener> listener;
    if (keeper.options.listen) {
        const auto receive = [this](PostgresNotice notice, const std::string& name) {
            if (notice == PostgresNotice::cancel) return keeper.wakeForCancel();
            if (notice != PostgresNotice::commit) keeper.wake(name);
        };
        listener = std::make_unique<PostgresListener>(
            saver->saver(), PostgresListenerOptions{.on_notice = receive, .on_error = keeper.options.on_error});
    }
    keeper.run();
}

Worker::Worker(std::shared_ptr<LeasedSaver> saver, WorkerOptions options)
    : impl_(std::make_unique<Impl>(std::move(saver), std::move(options))) {}

// One of its own threads cannot wait for them, so a worker that is destroyed too early would be used afterwards.
Worker::~Worker() {
    if (!impl_->is_under_way) return;
    std::fputs("stategraph: a Worker is destroyed while its run has not returned; call stop, and wait for run\n",
               stderr);
    std::terminate();
}

void Worker::addGraph(std::unique_ptr<detail::WorkerGraph> graph) { impl_->keeper.add(std::move(graph)); }
void Worker::run() { impl_->run(); }
void Worker::stop() noexcept { impl_->keeper.stop(); }
WorkerMetrics Worker::metrics() const { return impl_->keeper.currentMetrics(); }
PostgresQueue& Worker::queue() noexcept { return impl_->queue; }

}  // namespace stategraph
