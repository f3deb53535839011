#include "inspect/open_questions.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <stategraph/thread_summary.hpp>

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
    /// There may be more after this place.
    QuestionPage takeUntil(const ThreadPlace& place) {
        page_.next = place;
        return take();
    }

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

// Whether a thread asks something, as far as its entry in the index says.
bool mayAsk(const IndexedThread& thread) {
    const auto summary = thread.summary ? readThreadSummary(*thread.summary) : std::nullopt;
    return !summary || !summary->has_all_questions || !summary->questions.empty();
}

}  // namespace

QuestionPage openQuestionsOf(BaseCheckpointSaver& saver, const std::optional<ThreadPlace>& before, std::size_t limit,
                             std::size_t looks_max, std::size_t reads_max) {
    Filling page(limit);
    // Any open thread may have a question, even one that failed or sleeps.
    NewestThreadsQuery query{.statuses = Statuses::open(),
                             .before = before,
                             .limit = std::min(limit, rows_a_page - 1) + 1,
                             .with_summaries = true};
    std::size_t looks = 0;
    std::size_t reads = 0;
    for (;;) {
        const auto threads = saver.newestThreads(query);
        if (!threads) return pageWithoutIndex(saver, before, limit);
        std::vector<IndexedThread> worth;
        std::ranges::copy_if(*threads, std::back_inserter(worth), mayAsk);
        bool is_full = false;
        forEachIndexedHead(saver, worth, [&](const IndexedThread& indexed, const ListedCheckpoint& head) {
            auto thread = unfinishedThread(saver, head, indexed);
            if (is_full || !thread || thread->interrupts.empty()) return;
            is_full = !page.add(indexed.place, *std::move(thread));
        });
        if (is_full || threads->size() < query.limit) return page.take();
        query.before = threads->back().place;
        looks += threads->size();
        reads += worth.size();
        if (looks >= looks_max || reads >= reads_max) return page.takeUntil(*query.before);
    }
}

}  // namespace stategraph::inspect
