#include "inspect/thread_list.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/thread_summary.hpp>

#include "inspect/indexed_heads.hpp"

namespace stategraph::inspect {
namespace {

// If there are at most this many threads, all of them are read, so that the counts are exact.
constexpr std::size_t few_threads = 2000;
// A thread may be newer than its place in an index by about a second.
constexpr std::chrono::seconds slack{2};

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

// Returns the view of a thread in which nothing is due.
ThreadView viewOf(const ListedCheckpoint& head) {
    ThreadView view;
    view.thread_id = head.thread_id;
    view.status = toString(Status::done);
    view.checkpoint_id = head.id.toString();
    view.updated_at = isoTime(head.id.time());
    try {
        view.step = readHeader({head.thread_id, head.checkpoint_ns, head.id}, head.bytes).step;
    } catch (const CorruptCheckpointError&) {
        view.status = toString(Status::sealed);
    }
    return view;
}

// Damaged and sealed threads have no metadata.
std::map<std::string, Value> metadataOf(const ListedCheckpoint& head) {
    try {
        const std::string cbor = readHeader({head.thread_id, head.checkpoint_ns, head.id}, head.bytes).metadata;
        if (cbor.empty()) return {};
        return Value::fromCbor(cbor).as<std::map<std::string, Value>>();
    } catch (const CorruptCheckpointError&) {
        return {};
    } catch (const WrongTypeError&) {
        return {};
    }
}

bool isIn(const std::string& text, const std::string& name, const std::vector<Value>& questions) {
    return name.find(text) != std::string::npos || std::ranges::any_of(questions, [&](const Value& question) {
               return question.toJson().find(text) != std::string::npos;
           });
}

/// Keeps the newest of the threads that it gets, in any order, up to a limit.
class Newest {
public:
    explicit Newest(std::size_t limit) : limit_(limit) {}
    void add(ThreadPlace place, ThreadView view) {
        kept_.emplace(std::move(place), std::move(view));
        if (kept_.size() <= limit_) return;
        kept_.erase(kept_.begin());
        has_more_ = true;
    }
    void moveTo(ThreadList& list) {
        if (has_more_ && !kept_.empty()) list.next = kept_.begin()->first;
        for (auto each = kept_.rbegin(); each != kept_.rend(); ++each) list.threads.push_back(std::move(each->second));
    }

private:
    std::size_t limit_;
    bool has_more_ = false;
    std::map<ThreadPlace, ThreadView> kept_;
};

bool hasStatus(const ThreadView& thread, const std::string& status) {
    return status == "open" ? readStatus(thread.status) != Status::done : thread.status == status;
}

// Throws InvalidArgumentError for a status that no thread can have.
void checkStatus(const std::string& status) {
    const auto known = readStatus(status);
    if (status == "open" || (known && (Statuses::indexed() | Statuses::unreadable()).has(*known))) return;
    std::string all = "open";
    for (const Status each : indexed_statuses) all += std::string(", ") + toString(each);
    for (const Status each : {Status::damaged, Status::sealed}) all += std::string(", ") + toString(each);
    throw InvalidArgumentError("there is no status '" + status + "'; there are " + all);
}

/// Applies a filter, without `status` and `before`. Returns none if the thread does not match.
class Taker {
public:
    explicit Taker(const ThreadFilter& filter) : filter_(filter), now_(std::chrono::system_clock::now()) {}

    bool isTooOld(CheckpointId id, std::chrono::seconds by = {}) const {
        return filter_.since && now_ - id.time() > *filter_.since + by;
    }
    std::optional<ThreadView> take(const ListedCheckpoint& head, ThreadView view) const {
        if (isTooOld(head.id)) return {};
        view.metadata = metadataOf(head);
        for (Value& question : view.questions) question = shown(std::move(question), "");
        for (auto& [name, value] : view.metadata) value = shown(std::move(value), name);
        if (filter_.text && !isIn(*filter_.text, view.thread_id, view.questions)) return {};
        const bool has_all = std::ranges::all_of(filter_.metadata, [&](const MetadataEntry& wanted) {
            const auto found = view.metadata.find(wanted.key);
            return found != view.metadata.end() && found->second == wanted.value;
        });
        if (!has_all) return {};
        return view;
    }

    /// Whether a thread may pass it as far as its entry in an index says.
    bool mayTake(const IndexedThread& thread) const {
        if (!filter_.text && filter_.metadata.empty()) return true;
        std::optional<ThreadSummary> summary;
        if (thread.summary) summary = readThreadSummary(*thread.summary);
        // A thread that is done has no questions, even if it has no summary.
        const bool may_ask = thread.outlook.status != Status::done;
        if (filter_.text && !mayHaveText(thread, may_ask, summary)) return false;
        if (!summary) return true;
        for (MetadataEntry& entry : summary->metadata) entry.value = shown(std::move(entry.value), entry.key);
        return summary->hasMetadata(filter_.metadata).value_or(true);
    }

private:
    Value shown(Value value, const std::string& name) const {
        return filter_.shown ? filter_.shown(std::move(value), name) : value;
    }
    bool mayHaveText(const IndexedThread& thread, bool may_ask, std::optional<ThreadSummary>& summary) const {
        if (thread.place.thread_id.find(*filter_.text) != std::string::npos) return true;
        if (!may_ask || !summary || !summary->has_all_questions) return may_ask;
        for (Value& question : summary->questions) question = shown(std::move(question), "");
        return isIn(*filter_.text, thread.place.thread_id, summary->questions);
    }

    const ThreadFilter& filter_;
    std::chrono::system_clock::time_point now_;
};

ThreadList listAll(BaseCheckpointSaver& saver, const ThreadFilter& filter) {
    std::map<std::string, UnfinishedThread> unfinished;
    for (UnfinishedThread& thread : saver.unfinishedThreads()) {
        std::string name = thread.thread_id;
        unfinished.emplace(std::move(name), std::move(thread));
    }
    const Taker taker(filter);
    ThreadList list;
    Newest newest(filter.limit);
    saver.forEachHead({}, rows_a_page, [&](const ListedCheckpoint& head) {
        const auto found = unfinished.find(head.thread_id);
        auto view = taker.take(head, found == unfinished.end() ? viewOf(head) : viewOf(found->second));
        if (!view) return true;
        ++list.counts[view->status];
        if (filter.status && !hasStatus(*view, *filter.status)) return true;
        ThreadPlace place{head.id, head.thread_id};
        if (!filter.before || place < *filter.before) newest.add(std::move(place), std::move(*view));
        return true;
    });
    newest.moveTo(list);
    return list;
}

// Returns the views of some threads of the index, in their order, without those that no longer exist.
std::vector<std::pair<ThreadPlace, ThreadView>> readViews(BaseCheckpointSaver& saver, const Taker& taker,
                                                          std::span<const IndexedThread> threads) {
    std::vector<std::pair<ThreadPlace, ThreadView>> views;
    forEachIndexedHead(saver, threads, [&](const IndexedThread& indexed, const ListedCheckpoint& head) {
        const auto unfinished = unfinishedThread(saver, head, indexed);
        auto view = taker.take(head, unfinished ? viewOf(*unfinished) : viewOf(head));
        if (view) views.emplace_back(indexed.place, std::move(*view));
    });
    return views;
}

// Returns the statuses under which the index has threads that match the status of a filter. Threads in flight may have
// any, and a thread that cannot be read has its earlier status.
Statuses statusesOf(const ThreadFilter& filter) {
    if (!filter.status) return Statuses::indexed();
    if (*filter.status == "open") return Statuses::open();
    const Status status = readStatus(*filter.status).value();  // `checkStatus` has accepted it
    if (Statuses::unreadable().has(status)) return Statuses::indexed();
    return Statuses(Status::in_flight) | status;
}

/// Fills a list from an index of threads, a page of its entries after the other.
class NewestFirst {
public:
    NewestFirst(BaseCheckpointSaver& saver, const ThreadFilter& filter)
        : saver_(saver), filter_(filter), taker_(filter) {}

    ThreadList fill(ThreadList list) {
        list_ = std::move(list);
        const bool passes_over = filter_.text || !filter_.metadata.empty();
        NewestThreadsQuery query{.statuses = statusesOf(filter_),
                                 .before = filter_.before,
                                 .limit = passes_over ? rows_a_page : std::min(filter_.limit, rows_a_page - 1) + 1,
                                 .with_summaries = passes_over};
        last_ = filter_.before;
        for (;;) {
            const auto page = saver_.newestThreads(query);
            if (!page || page->empty()) return std::move(list_);
            std::vector<IndexedThread> worth;
            std::ranges::copy_if(*page, std::back_inserter(worth),
                                 [&](const IndexedThread& thread) { return taker_.mayTake(thread); });
            if (!read(worth)) {
                list_.next = last_;
                return std::move(list_);
            }
            last_ = query.before = page->back().place;
            if (page->size() < query.limit || taker_.isTooOld(page->back().place.since, slack)) return std::move(list_);
            looks_ += page->size();
            if (looks_ < filter_.looks_max) continue;
            list_.next = last_;
            return std::move(list_);
        }
    }

private:
    // Reads no more than may be shown, and one that says that there is another page. False: the list is complete, or
    // enough was read.
    bool read(std::span<const IndexedThread> worth) {
        while (!worth.empty()) {
            if (reads_ >= filter_.reads_max) return false;
            const std::size_t wanted = filter_.limit + 1 - list_.threads.size();
            const auto some = worth.first(std::min({wanted, worth.size(), filter_.reads_max - reads_}));
            for (auto& [place, view] : readViews(saver_, taker_, some)) {
                if (filter_.status && !hasStatus(view, *filter_.status)) continue;
                if (list_.threads.size() == filter_.limit) return false;
                list_.threads.push_back(std::move(view));
                last_ = std::move(place);
            }
            reads_ += some.size();
            last_ = some.back().place;
            worth = worth.subspan(some.size());
        }
        return true;
    }

    BaseCheckpointSaver& saver_;
    const ThreadFilter& filter_;
    const Taker taker_;
    ThreadList list_;
    std::optional<ThreadPlace> last_;  // everything up to it is decided
    std::size_t looks_ = 0;
    std::size_t reads_ = 0;
};

ThreadList listNewest(BaseCheckpointSaver& saver, const ThreadFilter& filter, const ThreadCounts& counts) {
    ThreadList list;
    for (const Status status : indexed_statuses) {
        if (counts[status] > 0) list.counts[toString(status)] = counts[status];
    }
    if (counts.open() > 0) list.counts["open"] = counts.open();
    return NewestFirst(saver, filter).fill(std::move(list));
}

}  // namespace

MetadataEntry metadataEntryOf(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        throw InvalidArgumentError("an entry of metadata is NAME=VALUE, not '" + text + "'");
    const std::string value = text.substr(equals + 1);
    return {text.substr(0, equals), valueOf(value)};
}

ThreadList listThreadsOf(BaseCheckpointSaver& saver, const ThreadFilter& filter) {
    if (filter.status) checkStatus(*filter.status);
    const auto counts = saver.countThreads(ThreadList::counted_max);
    if (!counts || counts->open() + counts->done() <= few_threads) return listAll(saver, filter);
    return listNewest(saver, filter, *counts);
}

}  // namespace stategraph::inspect
