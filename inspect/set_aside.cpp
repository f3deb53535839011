#include <algorithm>
#include <map>
#include <utility>

#include "inspect/queue_views.hpp"
#if STATEGRAPH_HAS_QUEUE
#include <stategraph/postgres_queue.hpp>
#include <stategraph/postgres_saver.hpp>
#endif

// Threads that workers have set aside, in lists of threads: their log does not say it.
namespace stategraph::inspect {

#if STATEGRAPH_HAS_QUEUE
namespace {

// Far more than people look at.
constexpr std::size_t most = 10'000;

std::vector<QueuedThread> setAsideOf(const std::shared_ptr<BaseCheckpointSaver>& saver, std::size_t limit) {
    const auto postgres = std::dynamic_pointer_cast<PostgresSaver>(saver);
    if (!postgres) return {};
    return PostgresQueue(postgres).setAside(limit);
}

}  // namespace

void markSetAside(const std::shared_ptr<BaseCheckpointSaver>& saver, std::vector<ThreadView>& threads) {
    if (threads.empty()) return;
    std::map<std::string, std::string> aside;
    for (QueuedThread& each : setAsideOf(saver, most)) aside.emplace(std::move(each.thread_id), std::move(each.error));
    for (ThreadView& thread : threads) {
        const auto found = aside.find(thread.thread_id);
        if (found == aside.end()) continue;
        thread.status = toString(Status::set_aside);
        thread.error = found->second;
    }
}

std::vector<ThreadView> threadsSetAside(const std::shared_ptr<BaseCheckpointSaver>& saver, std::size_t limit) {
    std::vector<ThreadView> views;
    const auto aside = setAsideOf(saver, limit);
    if (aside.empty()) return views;
    std::vector<std::string> names;
    for (const QueuedThread& each : aside) names.push_back(each.thread_id);
    std::map<std::string, UnfinishedThread> unfinished;
    for (UnfinishedThread& each : saver->unfinishedThreads({.thread_ids = names})) {
        std::string name = each.thread_id;
        unfinished.emplace(std::move(name), std::move(each));
    }
    for (const QueuedThread& each : aside) {
        ThreadView view;
        view.thread_id = each.thread_id;
        view.status = toString(Status::set_aside);
        view.error = each.error;
        view.updated_at = isoTime(each.since);
        if (const auto found = unfinished.find(each.thread_id); found != unfinished.end()) {
            view.step = found->second.step;
            view.checkpoint_id = found->second.checkpoint_id.toString();
            view.next = found->second.next;
        }
        views.push_back(std::move(view));
    }
    return views;
}
#else
void markSetAside(const std::shared_ptr<BaseCheckpointSaver>&, std::vector<ThreadView>&) {}
std::vector<ThreadView> threadsSetAside(const std::shared_ptr<BaseCheckpointSaver>&, std::size_t) { return {}; }
#endif

}  // namespace stategraph::inspect
