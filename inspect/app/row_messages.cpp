#include "inspect/app/row_messages.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <stategraph/version.hpp>

namespace stategraph::inspect::rows {
namespace {

Status statusOf(std::uint8_t number) {
    if (number >= indexed_statuses.size())
        throw WrongTypeError("a thread's status is " + std::to_string(number) + ", which this version does not know");
    return static_cast<Status>(number);
}

}  // namespace

std::string versionText() {
    return std::to_string(STATEGRAPH_VERSION_MAJOR) + "." + std::to_string(STATEGRAPH_VERSION_MINOR) + "." +
           std::to_string(STATEGRAPH_VERSION_PATCH);
}

Id::Id(CheckpointId id) {
    if (!id) return;
    bytes.resize(16);
    id.toBytes(bytes.data());
}

CheckpointId Id::id() const {
    if (bytes.empty()) return {};
    if (bytes.size() != 16) throw WrongTypeError("an id has " + std::to_string(bytes.size()) + " bytes; it has 16");
    return CheckpointId::fromBytes(bytes.data());
}

Outlook::Outlook(const ThreadOutlook& outlook) : status(static_cast<std::uint8_t>(outlook.status)), due(outlook.due) {}

ThreadOutlook Outlook::outlook() const { return {.status = statusOf(status), .due = due}; }

std::vector<std::uint8_t> numbersOf(const Statuses& statuses) {
    std::vector<std::uint8_t> numbers;
    for (const Status status : indexed_statuses) {
        if (statuses.has(status)) numbers.push_back(static_cast<std::uint8_t>(status));
    }
    return numbers;
}

Statuses statusesOf(const std::vector<std::uint8_t>& numbers) {
    Statuses statuses;
    for (const std::uint8_t number : numbers) statuses = statuses | Statuses(statusOf(number));
    return statuses;
}

std::vector<PathRow> toRows(std::vector<StoredWrite> writes) {
    std::vector<PathRow> rows;
    rows.reserve(writes.size());
    for (StoredWrite& write : writes) rows.push_back({std::move(write.path), std::move(write.bytes)});
    return rows;
}

std::vector<StoredWrite> fromRows(std::vector<PathRow> rows) {
    std::vector<StoredWrite> writes;
    writes.reserve(rows.size());
    for (PathRow& row : rows) writes.push_back({std::move(row.path), std::move(row.bytes)});
    return writes;
}

ListWanted toMessage(const ListQuery& query) {
    ListWanted wanted{.thread = query.thread_id,
                      .ns = query.checkpoint_ns,
                      .before = query.before,
                      .limit = {},
                      .heads = query.heads,
                      .after = query.after_thread_id,
                      .with_writes = query.with_writes,
                      .threads = query.thread_ids};
    if (query.limit) wanted.limit = *query.limit;
    return wanted;
}

ListQuery fromMessage(ListWanted wanted) {
    ListQuery query{.thread_id = std::move(wanted.thread),
                    .checkpoint_ns = std::move(wanted.ns),
                    .before = wanted.before.id(),
                    .limit = {},
                    .heads = wanted.heads,
                    .after_thread_id = std::move(wanted.after),
                    .with_writes = wanted.with_writes,
                    .thread_ids = std::move(wanted.threads)};
    if (wanted.limit) query.limit = *wanted.limit;
    return query;
}

// Rows of one log follow each other by id. The heads of one namespace follow each other by thread.
bool hasPages(const ListQuery& query) noexcept {
    if (!query.checkpoint_ns) return false;
    return query.heads ? !query.thread_id : query.thread_id.has_value();
}

void continueAfter(ListQuery& query, const std::string& thread_id, CheckpointId last, std::size_t count) {
    if (query.limit) *query.limit -= std::min(count, *query.limit);
    if (!query.heads) {
        query.before = last;
    } else if (query.thread_ids.empty()) {
        query.after_thread_id = thread_id;
    } else {
        const auto at = std::ranges::find(query.thread_ids, thread_id);
        query.thread_ids.erase(query.thread_ids.begin(), at == query.thread_ids.end() ? at : at + 1);
    }
}

}  // namespace stategraph::inspect::rows
