#include "inspect/thread_list.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>

namespace stategraph::inspect {
namespace {

ThreadView viewOf(const UnfinishedThread& thread) {
    ThreadView view;
    view.thread_id = thread.thread_id;
    view.status = toString(thread.reason);
    view.step = thread.step;
    view.checkpoint_id = thread.checkpoint_id.toString();
    view.updated_at = isoTime(thread.checkpoint_id.time());
    view.next = thread.next;
    for (const Interrupt& asked : thread.interrupts) view.questions.push_back(asked.value);
    view.error = thread.error;
    if (thread.wake_at) view.wake_at = isoTime(*thread.wake_at);
    return view;
}

// Of a thread in which nothing is due.
ThreadView viewOf(const ListedCheckpoint& head) {
    ThreadView view;
    view.thread_id = head.thread_id;
    view.status = "done";
    view.checkpoint_id = head.id.toString();
    view.updated_at = isoTime(head.id.time());
    try {
        view.step = readHeader({head.thread_id, head.checkpoint_ns, head.id}, head.bytes).step;
    } catch (const CorruptCheckpointError&) {
        view.status = "sealed";
    }
    return view;
}

bool hasText(const ThreadView& thread, const std::string& text) {
    return thread.thread_id.find(text) != std::string::npos ||
           std::ranges::any_of(thread.questions, [&](const Value& question) {
               return question.toJson().find(text) != std::string::npos;
           });
}

/// The newest of what it is given, at most so many, in any order.
class Newest {
public:
    explicit Newest(std::size_t limit) : limit_(limit) {}
    void add(CheckpointId id, ThreadView view) {
        ++seen_;
        kept_.emplace(id, std::move(view));
        if (kept_.size() > limit_) kept_.erase(kept_.begin());
    }
    std::vector<ThreadView> take() {
        std::vector<ThreadView> all;
        for (auto each = kept_.rbegin(); each != kept_.rend(); ++each) all.push_back(std::move(each->second));
        return all;
    }
    std::size_t seen() const noexcept { return seen_; }

private:
    std::size_t limit_;
    std::size_t seen_ = 0;
    std::multimap<CheckpointId, ThreadView> kept_;
};

}  // namespace

ThreadList listThreadsOf(BaseCheckpointSaver& saver, const ThreadFilter& filter) {
    std::map<std::string, UnfinishedThread> unfinished;
    for (UnfinishedThread& thread : saver.unfinishedThreads()) {
        std::string name = thread.thread_id;
        unfinished.emplace(std::move(name), std::move(thread));
    }
    const auto now = std::chrono::system_clock::now();
    ThreadList list;
    Newest newest(filter.limit);
    saver.forEachHead({}, rows_a_page, [&](const ListedCheckpoint& head) {
        if (filter.since && now - head.id.time() > *filter.since) return true;
        const auto found = unfinished.find(head.thread_id);
        ThreadView view = found == unfinished.end() ? viewOf(head) : viewOf(found->second);
        if (filter.shown) {
            for (Value& question : view.questions) question = filter.shown(std::move(question));
        }
        if (filter.text && !hasText(view, *filter.text)) return true;
        ++list.counts[view.status];
        if (filter.status && view.status != *filter.status) return true;
        if (filter.before.empty() || head.id < filter.before) newest.add(head.id, std::move(view));
        return true;
    });
    list.threads = newest.take();
    list.more = newest.seen() - list.threads.size();
    return list;
}

}  // namespace stategraph::inspect
