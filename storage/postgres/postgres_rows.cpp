#include "storage/postgres/postgres_rows.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "storage/postgres/postgres_view.hpp"

namespace stategraph::checkpoint {
namespace {

using stores::Change;

// The most bytes of a statement that writes, except that it may contain one value more.
constexpr std::size_t write_bytes = std::size_t{32} << 20U;
// Items are locked by this number of places, to which their names are mapped, because the server limits the locks of
// one transaction.
constexpr std::uint64_t places = 256;

// The hash is the same in all processes and versions.
std::uint64_t hashOf(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return hash;
}

/// The rows that a transaction has read and locked.
class PostgresLookup final : public stores::Lookup {
public:
    PostgresLookup(PostgresConnection& connection, const PostgresStatement& get, const PostgresResult& rows)
        : connection_(connection), get_(get), rows_(rows) {
        for (int row = 0; row < rows.rows(); ++row) places_.emplace(rows.bytes(row, 0), row);
    }

    std::optional<std::string> get(std::string_view key) override {
        const auto found = places_.find(key);
        if (found == places_.end()) return std::nullopt;
        if (!rows_.isNull(found->second, 1)) return rows_.copy(found->second, 1);
        PostgresParameters parameters;
        addPostgresKey(parameters, key);
        const PostgresResult row = connection_.run(get_, parameters, "read an item");
        return row.rows() == 0 ? std::nullopt : std::optional(row.copy(0, 0));
    }

private:
    PostgresConnection& connection_;
    const PostgresStatement& get_;
    const PostgresResult& rows_;
    std::map<std::string_view, int> places_;
};

}  // namespace

struct PostgresRows::Request {
    std::span<const std::string> keys;
    const stores::Edit& edit;
    bool is_lasting;
};

struct PostgresRows::Attempt {
    std::int64_t transaction = 0;
    std::map<std::string, std::optional<std::string>> changes = {};  // the last change of each key
    bool is_committing = false;
};

PostgresRows::PostgresRows(PostgresPool& pool, const PostgresPoolSettings& settings, bool sync)
    : pool_(pool),
      statements_(settings.schema),
      is_read_only_(settings.connection.read_only),
      sync_(sync),
      patience_(settings.connection.statement_timeout) {}

void PostgresRows::checkWritable() const {
    if (!is_read_only_) return;
    asStore([&] { pool_.errors().fail("it is open read_only; open it without read_only to change it"); });
}

std::unique_ptr<stores::View> PostgresRows::view(Reads reads) {
    return std::make_unique<PostgresView>(pool_, statements_, reads);
}

void PostgresRows::update(std::span<const std::string> keys, const stores::Edit& edit, bool lasting) {
    checkWritable();
    const Request request{.keys = keys, .edit = edit, .is_lasting = sync_ && lasting};
    asStore([&] {
        {
            Attempt first;
            try {
                PostgresPool::Lease lease(pool_);
                return tryUpdate(*lease, request, first);
            } catch (const PostgresLost&) {
                if (first.is_committing && wasStored(first, request.is_lasting)) return;
            }
        }
        Attempt second;
        try {
            PostgresPool::Lease lease(pool_, PostgresPool::Lease::Kind::made_anew);
            tryUpdate(*lease, request, second);
        } catch (const PostgresLost&) {
            if (!second.is_committing || !wasStored(second, request.is_lasting)) throw;
        }
    });
}

void PostgresRows::tryUpdate(PostgresConnection& connection, const Request& request, Attempt& attempt) {
    try {
        const PostgresResult found = begin(connection, request, attempt);
        PostgresLookup rows(connection, statements_.get, found);
        for (Change& change : request.edit(rows)) attempt.changes[std::move(change.key)] = std::move(change.value);
        if (attempt.changes.empty()) return rollBackPostgres(connection);
        commit(connection, attempt);
    } catch (const PostgresLost&) {
        throw;
    } catch (...) {
        rollBackPostgres(connection);
        throw;
    }
}

PostgresResult PostgresRows::begin(PostgresConnection& connection, const Request& request, Attempt& attempt) {
    // All processes lock in the same order, so that no two wait for each other.
    std::set<std::uint64_t> wanted;
    PostgresKeys keys;
    for (const std::string& key : request.keys) {
        wanted.insert(hashOf(key) % places);
        keys.add(key);
    }
    const std::uint64_t own = hashOf(connection.errors().schema() + ".store") / places * places;
    PostgresArray locks(bigint_type);
    for (const std::uint64_t place : wanted) locks.addNumber(static_cast<std::int64_t>(own + place));
    const PostgresParameters none;
    PostgresParameters lock;
    lock.owned(locks.encoded());
    PostgresParameters transaction;
    const std::string patience = std::to_string(patience_.count());
    transaction.text(request.is_lasting ? "on" : "off").text(patience);
    PostgresParameters read;
    keys.into(read);
    const PostgresConnection::Step steps[] = {{statements_.begin_writing, none},
                                              {statements_.transaction, transaction},
                                              {statements_.lock, lock},
                                              {statements_.read, read}};
    std::vector<PostgresResult> results = connection.runAll(steps, "read items");
    attempt.transaction = results[1].number(0, 0);
    return std::move(results.back());
}

void PostgresRows::commit(PostgresConnection& connection, Attempt& attempt) {
    std::vector<PostgresParameters> writes(1);
    std::vector<PostgresConnection::Step> steps;
    PostgresKeys gone;
    for (const auto& [key, value] : attempt.changes) {
        if (!value) gone.add(key);
    }
    gone.into(writes.front());
    for (auto at = attempt.changes.begin(); at != attempt.changes.end();) {
        PostgresKeys keys;
        PostgresArray values(bytea_type);
        std::size_t size = 0;
        for (; at != attempt.changes.end() && size < write_bytes; ++at) {
            if (!at->second) continue;
            keys.add(at->first);
            values.add(*at->second);
            size += at->first.size() + at->second->size() + 16;
        }
        if (size == 0) break;
        keys.into(writes.emplace_back());
        writes.back().owned(values.encoded());
    }
    const PostgresParameters none;
    for (std::size_t i = 0; i < writes.size(); ++i)
        steps.push_back({i == 0 ? statements_.remove : statements_.put, writes[i]});
    steps.push_back({statements_.commit, none});
    attempt.is_committing = true;
    (void)connection.runAll(steps, "store items");
}

bool PostgresRows::wasStored(const Attempt& attempt, bool is_lasting) {
    const auto deadline = std::chrono::steady_clock::now() + patience_;
    const auto fail = [&](const std::string& why) {
        pool_.errors().fail(
            "it is not known whether what was put is stored, since the connection broke while it was: " + why +
            "; read it, and put it again if it does not exist");
    };
    PostgresParameters transaction;
    transaction.number(attempt.transaction);
    for (auto kind = PostgresPool::Lease::Kind::made_anew;; kind = PostgresPool::Lease::Kind::any) {
        PostgresPool::Lease lease(pool_, kind);
        PostgresResult row;
        try {
            row = lease->run(statements_.status, transaction, "look whether items were stored");
        } catch (const PostgresRefused& error) {
            // After a crash, a server does not know a transaction that it had not yet written to its disk.
            if (error.sqlstate() == "22023") return false;
            throw;
        }
        if (row.rows() == 0 || row.isNull(0, 0)) fail("the server does not know its transaction any more");
        const std::string_view status = row.bytes(0, 0);
        if (status == "aborted") return false;
        if (status == "committed") {
            // After a crash, another transaction may have the same number.
            if (!isThere(*lease, attempt)) fail("others have put the same items since");
            if (is_lasting) lease->makeDurable("wait until items that were found are durable");
            return true;
        }
        if (std::chrono::steady_clock::now() >= deadline) fail("its transaction is still under way");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

bool PostgresRows::isThere(PostgresConnection& connection, const Attempt& attempt) const {
    return std::all_of(attempt.changes.begin(), attempt.changes.end(), [&](const auto& change) {
        PostgresParameters parameters;
        addPostgresKey(parameters, change.first);
        const PostgresResult row = connection.run(statements_.get, parameters, "look whether items were stored");
        if (!change.second) return row.rows() == 0;
        return row.rows() == 1 && row.bytes(0, 0) == *change.second;
    });
}

}  // namespace stategraph::checkpoint
