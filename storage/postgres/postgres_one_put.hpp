#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <stategraph/postgres_saver.hpp>
#include <stategraph/saver_rules.hpp>

#include "storage/postgres/postgres_connection.hpp"
#include "storage/postgres/postgres_statements.hpp"

namespace stategraph::checkpoint {

class PostgresThreadHolds;

/// The columns of a joined statement (postgres_joined_statement.hpp).
struct PostgresJoinedColumns {
    /// The commits of puts that have more than one, without the first.
    struct Further {
        PostgresArray places{bigint_type};
        PostgresArray before{uuid_type};
        PostgresArray ids{uuid_type};
        PostgresArray parents{uuid_type};
        PostgresArray bases{uuid_type};
        PostgresArray bytes{bytea_type};
    };
    PostgresArray threads{bytea_type};
    PostgresArray namespaces{bytea_type};
    PostgresArray expected{uuid_type};
    PostgresArray last_ids{uuid_type};
    PostgresArray parents{uuid_type};
    PostgresArray bases{uuid_type};
    PostgresArray bytes{bytea_type};
    PostgresArray statuses{bigint_type};
    PostgresArray dues{bigint_type};
    PostgresArray seconds_ago{uuid_type};
    PostgresArray epochs{bigint_type};
    PostgresArray takes{bigint_type};
    PostgresArray holds{bigint_type};
    PostgresArray summaries{bytea_type};
    PostgresArray first_ids{uuid_type};
    Further further;
    std::int64_t puts = 0;

    PostgresParameters encoded(bool sync) const;
};

/// One request, and the statements that store it.
class PostgresPut {
public:
    /// If `lease` is null, it is made under the epoch of the thread's hold, if the saver has one. All of them must
    /// outlive it.
    PostgresPut(const PostgresStatements& statements, PostgresThreadHolds& holds, const PutRequest& request,
                const PutLease* lease);

    const PutRequest& request() const noexcept { return request_; }

    /// Stores it, and waits for other writers of its log or thread. Throws ConcurrentUpdateError if it is refused,
    /// LeaseLostError if its lease is lost.
    void store(PostgresConnection& connection) const;
    /// Stores it if no other writer is in the way; call it only if mayBeJoined. False: nothing was stored, and `store`
    /// says why, or stores it.
    bool tryToStore(PostgresConnection& connection) const;
    /// Whether the rows exist, as durable as the request wants them. For pending writes alone this may also be true
    /// because another writer stored the same bytes.
    bool isStored(PostgresConnection& connection) const;

    /// Whether a joined statement can store it: it is commits that follow its log's head, or begin its log.
    bool mayBeJoined() const noexcept {
        return !request_.commits.empty() && request_.writes.empty() && request_.compared.empty() && !is_old_ &&
               request_.root.empty();
    }
    /// What it has of the bytes of a joined statement.
    std::size_t joinedBytes() const noexcept;
    /// Adds it to such a statement.
    void addTo(PostgresJoinedColumns& columns) const;

private:
    bool isVisible(PostgresConnection& connection) const;
    const char* durability() const noexcept { return request_.sync ? "on" : "off"; }
    // Whether the statement for a single commit can store it.
    bool isAppend() const noexcept {
        return mayBeJoined() && request_.commits.size() == 1 && !request_.expected_head.empty() &&
               (lease_ == nullptr || !lease_->takes);
    }
    bool hasSummary() const noexcept;
    /// The epoch that the thread must have, of a lease or of a hold.
    struct Right {
        std::optional<std::int64_t> lease = {};
        std::optional<std::int64_t> hold = {};
    };
    Right right() const;
    void refuseOrHoldAgain(PostgresConnection& connection, const Right& right) const;
    bool refuseOrTryAgain(PostgresConnection& connection) const;
    bool append(PostgresConnection& connection) const;
    void addPlace(PostgresParameters& parameters, CheckpointId head) const;
    PostgresParameters all() const;
    PostgresResult callPut(PostgresConnection& connection, const Right& has) const;
    bool putAll(PostgresConnection& connection) const;

    const PostgresStatements& statements_;
    PostgresThreadHolds& holds_;
    const PutRequest& request_;
    const PutLease* const lease_;
    std::vector<CheckpointId> needs_;  // one a commit; none: nothing that could be gone
    bool is_old_ = false;              // what it builds on, a prune might drop
};

/// Whether the thread's hold ends with what the request stores: nothing is due after it, so its run is about to end. A
/// run that does store more takes its thread again (PostgresThreadHolds::holdAgain).
inline bool endsHold(const PutRequest& request) noexcept {
    return request.log.checkpoint_ns.empty() && !request.commits.empty() && request.outlook.status == Status::done;
}

/// Completes "could not ".
inline constexpr const char* storing_commit = "store a commit";

}  // namespace stategraph::checkpoint
