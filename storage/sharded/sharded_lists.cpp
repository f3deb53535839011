#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "storage/saver/thread_order.hpp"
#include "storage/sharded/sharded_impl.hpp"

// Lists over the threads of all shards: a page of each, merged.
namespace stategraph {
namespace {

template <class Row>
void addPage(std::vector<Row>& rows, std::vector<Row> page) {
    rows.insert(rows.end(), std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
}

template <class Row>
void cut(std::vector<Row>& rows, std::size_t limit) {
    if (rows.size() > limit) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(limit), rows.end());
}

// What `call(shard)` returns for each of the shards; none if one has no index.
template <class Row, class Call>
std::optional<std::vector<Row>> indexed(const std::vector<NamedShard>& shards, Call call) {
    std::vector<Row> rows;
    for (const NamedShard& shard : shards) {
        std::optional<std::vector<Row>> page = call(shard);
        if (!page) return std::nullopt;
        addPage(rows, std::move(*page));
    }
    return rows;
}

}  // namespace

bool ShardedSaver::Impl::comesBefore(std::string_view a, std::string_view b) const noexcept {
    return order == ThreadOrder::bytes ? a < b : checkpoint::BySizeThenText()(a, b);
}

void ShardedSaver::Impl::checkOrder(const NamedShard& shard, std::string_view thread_id, std::string_view next) const {
    if (!comesBefore(next, thread_id)) return;
    throw SaverError("shard '" + shard.name + "' lists the thread '" + std::string(thread_id) + "' before '" +
                     std::string(next) +
                     "', which is not the order of the ShardedSaver; give it the ThreadOrder of its "
                     "savers (ShardedSaverOptions::order)");
}

// Each shard is asked for its own of the names.
std::vector<ListedCheckpoint> ShardedSaver::Impl::listByNames(const ListQuery& query) const {
    std::map<std::string_view, std::size_t> place_of;
    for (std::size_t place = 0; place < query.thread_ids.size(); ++place)
        place_of.emplace(query.thread_ids[place], place);
    std::vector<ListedCheckpoint> rows;
    for (const NamedShard& shard : shards) {
        ListQuery own = query;
        std::erase_if(own.thread_ids, [&](const std::string& id) { return &shardOf(id) != &shard; });
        if (own.thread_ids.empty()) continue;
        addPage(rows, onShard(shard, [&](BaseCheckpointSaver& saver) { return saver.list(own); }));
    }
    std::ranges::stable_sort(rows, {}, [&](const ListedCheckpoint& row) { return place_of[row.thread_id]; });
    return rows;
}

std::vector<ListedCheckpoint> ShardedSaver::list(const ListQuery& query) {
    if (query.limit == std::size_t{0}) return {};
    const auto ask = [&](BaseCheckpointSaver& saver) { return saver.list(query); };
    if (query.thread_id) return impl_->onThread(*query.thread_id, ask);
    std::vector<ListedCheckpoint> rows;
    if (!query.thread_ids.empty()) {
        rows = impl_->listByNames(query);
    } else {
        for (const NamedShard& shard : impl_->shards) {
            auto page = Impl::onShard(shard, ask);
            for (std::size_t i = 1; i < page.size(); ++i)
                impl_->checkOrder(shard, page[i - 1].thread_id, page[i].thread_id);
            addPage(rows, std::move(page));
        }
        std::ranges::stable_sort(rows, [this](const ListedCheckpoint& a, const ListedCheckpoint& b) {
            return impl_->comesBefore(a.thread_id, b.thread_id);
        });
    }
    if (query.limit) cut(rows, *query.limit);
    return rows;
}

std::optional<std::vector<IndexedThread>> ShardedSaver::openThreads(const OpenThreadsQuery& query) {
    auto threads = indexed<IndexedThread>(impl_->shards, [&](const NamedShard& shard) {
        auto page = Impl::onShard(shard, [&](BaseCheckpointSaver& saver) { return saver.openThreads(query); });
        for (std::size_t i = 1; page && i < page->size(); ++i)
            impl_->checkOrder(shard, (*page)[i - 1].place.thread_id, (*page)[i].place.thread_id);
        return page;
    });
    if (!threads) return threads;
    std::ranges::sort(*threads, [this](const IndexedThread& a, const IndexedThread& b) {
        return impl_->comesBefore(a.place.thread_id, b.place.thread_id);
    });
    cut(*threads, query.limit);
    return threads;
}

std::optional<std::vector<IndexedThread>> ShardedSaver::newestThreads(const NewestThreadsQuery& query) {
    auto threads = indexed<IndexedThread>(impl_->shards, [&](const NamedShard& shard) {
        return Impl::onShard(shard, [&](BaseCheckpointSaver& saver) { return saver.newestThreads(query); });
    });
    if (!threads) return threads;
    std::ranges::sort(*threads, std::greater<>(), &IndexedThread::place);
    cut(*threads, query.limit);
    return threads;
}

std::optional<std::vector<DueThread>> ShardedSaver::dueThreads(const DueThreadsQuery& query) {
    auto threads = indexed<DueThread>(impl_->shards, [&](const NamedShard& shard) {
        return Impl::onShard(shard, [&](BaseCheckpointSaver& saver) { return saver.dueThreads(query); });
    });
    if (!threads) return threads;
    std::ranges::sort(*threads);
    cut(*threads, query.limit);
    return threads;
}

std::optional<ThreadCounts> ShardedSaver::countThreads(std::size_t most) {
    ThreadCounts all;
    for (const NamedShard& shard : impl_->shards) {
        const auto counts = Impl::onShard(shard, [&](BaseCheckpointSaver& saver) { return saver.countThreads(most); });
        if (!counts) return std::nullopt;
        for (std::size_t i = 0; i < all.by_status.size(); ++i)
            all.by_status[i] = std::min(most, all.by_status[i] + std::min(most, counts->by_status[i]));
    }
    return all;
}

}  // namespace stategraph
