#include "inspect/open_questions.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "inspect/indexed_heads.hpp"
#include "inspect/views.hpp"

namespace stategraph::inspect {
namespace {

/// A page that is being filled, with threads in its order.
class Filling {
public:
    explicit Filling(std::size_t limit) : limit_(limit) {}

    /// Returns false if the page is full, so that the thread belongs to the next page.
    bool add(const ThreadPlace& place, UnfinishedThread thread) {
        if (questions_ >= limit_) {
            page_.next = last_;
            return false;
        }
        questions_ += thread.interrupts.size();
        last_ = place;
        page_.threads.push_back(std::move(thread));
        return true;
    }
    QuestionPage take() { return std::move(page_); }

private:
    const std::size_t limit_;
    std::size_t questions_ = 0;
    ThreadPlace last_;
    QuestionPage page_;
};

QuestionPage pageWithoutIndex(BaseCheckpointSaver& saver, const std::optional<ThreadPlace>& before, std::size_t limit) {
    std::vector<std::pair<ThreadPlace, UnfinishedThread>> asking;
    for (UnfinishedThread& thread : saver.unfinishedThreads()) {
        ThreadPlace place{thread.checkpoint_id, thread.thread_id};
        if (thread.interrupts.empty() || (before && place >= *before)) continue;
        asking.emplace_back(std::move(place), std::move(thread));
    }
    std::ranges::sort(asking, std::ranges::greater{},
                      [](const auto& each) -> const ThreadPlace& { return each.first; });
    Filling page(limit);
    for (auto& [place, thread] : asking) {
        if (!page.add(place, std::move(thread))) break;
    }
    return page.take();
}

}  // namespace

QuestionPage openQuestionsOf(BaseCheckpointSaver& saver, const std::optional<ThreadPlace>& before, std::size_t limit) {
    Filling page(limit);
    // Any open thread may have a question, even one that failed or sleeps.
    NewestThreadsQuery query{
        .statuses = ThreadStatuses::open(), .before = before, .limit = std::min(limit, rows_a_page - 1) + 1};
    for (;;) {
        const auto threads = saver.newestThreads(query);
        if (!threads) return pageWithoutIndex(saver, before, limit);
        bool is_full = false;
        forEachIndexedHead(saver, *threads, [&](const IndexedThread& indexed, const ListedCheckpoint& head) {
            auto thread = unfinishedThread(saver, head, indexed.outlook);
            if (is_full || !thread || thread->interrupts.empty()) return;
            is_full = !page.add(indexed.place, *std::move(thread));
        });
        if (is_full || threads->size() < query.limit) return page.take();
        query.before = threads->back().place;
    }
}

}  // namespace stategraph::inspect
