#include <stategraph/worker.hpp>

#include <algorithm>
#include <set>

#include <unistd.h>

#include <stategraph/error.hpp>

#include "worker/impl.hpp"

// The functions that users call, and the options. The loop is in keeper.cpp, and the slots are in slots.cpp.
namespace stategraph {
namespace {

constexpr std::size_t slots_max = 1'000;
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
        if (!names.insert(queue.name).second) refuse("queues", "has '" + queue.name + "' twice");
        if (queue.weight < 1 || queue.weight > weight_max)
            refuse("queues", "has '" + queue.name + "' with weight " + std::to_string(queue.weight) +
                                 "; it must be 1 to " + std::to_string(weight_max));
        if (queue.limit == std::size_t{0})
            refuse("queues", "has '" + queue.name + "' with limit 0; it must be at least 1");
    }
}

std::string ownName() {
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    return std::string(host) + ":" + std::to_string(::getpid());
}

WorkerOptions checked(WorkerOptions options) {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    if (options.name.empty()) options.name = ownName();
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
    return options;
}

std::shared_ptr<LeasedSaver> notNull(std::shared_ptr<LeasedSaver> saver) {
    if (!saver) throw InvalidArgumentError("a Worker needs a LeasedSaver, and was given none");
    return saver;
}

}  // namespace

Worker::Impl::Impl(std::shared_ptr<LeasedSaver> given_saver, WorkerOptions given_options)
    : saver(notNull(std::move(given_saver))),
      options(checked(std::move(given_options))),
      queue(saver->saver()),
      shares(options.queues),
      random(std::random_device{}()) {}

Worker::Worker(std::shared_ptr<LeasedSaver> saver, WorkerOptions options)
    : impl_(std::make_unique<Impl>(std::move(saver), std::move(options))) {}
Worker::~Worker() = default;

void Worker::addGraph(std::unique_ptr<detail::WorkerGraph> graph) {
    const std::string& name = graph->name();
    if (name.empty() || name.size() > PostgresQueue::name_bytes_max)
        throw InvalidArgumentError("the name of a worker's graph has " + std::to_string(name.size()) +
                                   " bytes; it must have 1 to " + std::to_string(PostgresQueue::name_bytes_max));
    if (std::ranges::any_of(impl_->graphs, [&](const auto& each) { return each->name() == name; }))
        throw InvalidArgumentError("the worker has a graph named '" + name + "' already; give each a name of its own");
    const detail::LockGuard lock(impl_->mutex);
    if (impl_->is_running)
        throw InvalidArgumentError("the worker runs already, so graph '" + name +
                                   "' comes too late; add it before run");
    impl_->graphs.push_back(std::move(graph));
}

void Worker::run() { impl_->run(); }

void Worker::stop() noexcept {
    const detail::LockGuard lock(impl_->mutex);
    impl_->is_stopping = true;
    impl_->changed.notify_all();
}

WorkerMetrics Worker::metrics() const {
    const detail::LockGuard lock(impl_->mutex);
    WorkerMetrics metrics = impl_->metrics;
    metrics.running = impl_->held.size() - impl_->done;
    return metrics;
}

PostgresQueue& Worker::queue() noexcept { return impl_->queue; }

}  // namespace stategraph
