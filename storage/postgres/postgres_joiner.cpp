#include "storage/postgres/postgres_joiner.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace stategraph::checkpoint {

void checkPostgresJoin(const PostgresJoinOptions& options) {
    constexpr std::size_t bytes_limit = std::size_t{100} << 20U;
    const auto check = [](const char* name, std::size_t given, std::size_t most) {
        if (given >= 1 && given <= most) return;
        throw InvalidArgumentError("join_puts." + std::string(name) + " is " + std::to_string(given) +
                                   "; it must be 1 to " + std::to_string(most));
    };
    check("puts_max", options.puts_max, 1000);
    check("bytes_max", options.bytes_max, bytes_limit);
    check("statements_max", options.statements_max, 1000);
}

// A put that waits, or leads: its thread, or its Later.
class PostgresJoiner::Waiting {
public:
    explicit Waiting(const PostgresPut& given, Later* told = nullptr)
        : put(given),
          later(told),
          bytes(given.joinedBytes()),
          sync(given.request().sync),
          place(placeOf(given.request().log)) {}

    /// Returns when the put is done (true), or its thread is to execute the next statement.
    bool await() SG_EXCLUDES(mutex_) {
        detail::UniqueLock lock(mutex_);
        changed_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return is_done_ || is_leader_; });
        return is_done_;
    }
    // The thread that waits may destroy this as soon as the lock is free.
    void makeLeader() noexcept SG_EXCLUDES(mutex_) {
        if (later != nullptr) return later->leads();
        const detail::LockGuard lock(mutex_);
        is_leader_ = true;
        changed_.notify_one();
    }
    void finish(Outcome how) noexcept SG_EXCLUDES(mutex_) {
        if (later != nullptr) return later->ended(how);
        const detail::LockGuard lock(mutex_);
        outcome = how;
        is_done_ = true;
        changed_.notify_one();
    }

    auto name() const noexcept { return std::tie(put.request().log.thread_id, put.request().log.checkpoint_ns); }

    const PostgresPut& put;
    Later* const later;  // null: a thread waits
    const std::size_t bytes;
    const bool sync;
    const std::size_t place;  // in under_way_
    Outcome outcome = Outcome::alone;

private:
    static std::size_t placeOf(const LogName& log) noexcept {
        const std::hash<std::string_view> hash;
        return (hash(log.thread_id) * 31 + hash(log.checkpoint_ns)) % std::tuple_size_v<decltype(under_way_)>;
    }

    detail::Mutex mutex_;
    std::condition_variable changed_;
    bool is_done_ SG_GUARDED_BY(mutex_) = false;
    bool is_leader_ SG_GUARDED_BY(mutex_) = false;
};

// A leader's statement, from the connection that it waits for to its end. However that comes, the others of the
// statement have an outcome then, and one of those that wait leads next.
class PostgresJoiner::Turn {
public:
    Turn(PostgresJoiner& joiner, Waiting& own) : joiner_(joiner), own_(own) {
        try {
            puts.reserve(joiner.options_.puts_max);
        } catch (...) {
            end();
            throw;
        }
        puts.push_back(&own);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { end(); }

    /// Takes what waits, as much as one statement may have.
    void gather() SG_EXCLUDES(joiner_.mutex_) {
        Waiting* next = nullptr;
        {
            const detail::LockGuard lock(joiner_.mutex_);
            std::size_t bytes = own_.bytes;
            auto kept = joiner_.queue_.begin();
            for (Waiting* const each : joiner_.queue_) {
                const bool fits = puts.size() < joiner_.options_.puts_max && each->sync == own_.sync &&
                                  bytes + each->bytes <= joiner_.options_.bytes_max;
                if (!fits || joiner_.isUnderWay(*each)) {
                    *kept++ = each;
                    continue;
                }
                joiner_.note(*each, 1);
                bytes += each->bytes;
                puts.push_back(each);
            }
            joiner_.queue_.erase(kept, joiner_.queue_.end());
            next = joiner_.nextLeader();
        }
        if (next != nullptr) next->makeLeader();
        std::ranges::sort(puts, {}, &Waiting::name);  // two processes that begin the same logs wait in one order
    }

    /// No connection is to be had: those that wait find out by themselves.
    void dismissAll() noexcept { dismisses_ = true; }

    std::vector<Waiting*> puts;

private:
    void end() noexcept SG_EXCLUDES(joiner_.mutex_) {
        std::vector<Waiting*> dismissed;
        Waiting* next = nullptr;
        {
            const detail::LockGuard lock(joiner_.mutex_);
            joiner_.note(own_, -1);
            for (const Waiting* each : puts) {
                if (each != &own_) joiner_.note(*each, -1);
            }
            --joiner_.leaders_;
            if (dismisses_) dismissed.swap(joiner_.queue_);
            next = joiner_.nextLeader();
        }
        if (next != nullptr) next->makeLeader();
        for (Waiting* const each : puts) {
            if (each != &own_) each->finish(each->outcome);
        }
        for (Waiting* const each : dismissed) each->finish(Outcome::alone);
    }

    PostgresJoiner& joiner_;
    Waiting& own_;
    bool dismisses_ = false;
};

bool PostgresJoiner::isUnderWay(const Waiting& put) const { return under_way_[put.place] > 0; }

void PostgresJoiner::note(const Waiting& put, int change) {
    under_way_[put.place] = static_cast<std::uint16_t>(under_way_[put.place] + change);
}

// Null: none may lead now. Its log is noted.
PostgresJoiner::Waiting* PostgresJoiner::nextLeader() {
    if (leaders_ >= options_.statements_max) return nullptr;
    const auto found =
        std::ranges::find_if(queue_, [this](const Waiting* each) SG_REQUIRES(mutex_) { return !isUnderWay(*each); });
    if (found == queue_.end()) return nullptr;
    Waiting* const next = *found;
    queue_.erase(found);
    ++leaders_;
    note(*next, 1);
    return next;
}

bool PostgresJoiner::mayJoin(const PostgresPut& put) const noexcept {
    return options_.puts_max > 1 && put.mayBeJoined() && put.joinedBytes() <= options_.bytes_max &&
           pool_.isOwnProcess();
}

// Returns whether it leads. Otherwise it waits.
bool PostgresJoiner::beginOrWait(Waiting& own) {
    const detail::LockGuard lock(mutex_);
    const bool leads = leaders_ < options_.statements_max && !isUnderWay(own);
    if (leads) {
        ++leaders_;
        note(own, 1);
    } else {
        queue_.push_back(&own);
    }
    return leads;
}

PostgresJoiner::Outcome PostgresJoiner::store(const PostgresPut& put) {
    if (!mayJoin(put)) return Outcome::alone;
    Waiting own(put);
    if (!beginOrWait(own) && own.await()) return own.outcome;
    return lead(own);
}

PostgresJoiner::Later::Later() noexcept = default;
PostgresJoiner::Later::~Later() = default;

bool PostgresJoiner::storeLater(const PostgresPut& put, Later& later) {
    if (!mayJoin(put)) return false;
    later.waiting = std::make_unique<Waiting>(put, &later);
    if (beginOrWait(*later.waiting)) later.leads();  // otherwise it may have ended, and be destroyed
    return true;
}

void PostgresJoiner::lead(Later& later) noexcept {
    Outcome outcome = Outcome::alone;
    try {
        outcome = lead(*later.waiting);
    } catch (...) {
        return later.failed(std::current_exception());
    }
    later.ended(outcome);
}

PostgresJoiner::Outcome PostgresJoiner::lead(Waiting& own) {
    Turn turn(*this, own);
    std::optional<PostgresPool::Lease> connection;
    try {
        connection.emplace(pool_);
    } catch (...) {
        turn.dismissAll();
        throw;
    }
    turn.gather();
    try {
        if (turn.puts.size() > 1) {
            execute(**connection, turn);
        } else if (own.put.tryToStore(**connection)) {
            own.outcome = Outcome::stored;
        }
    } catch (const PostgresLost&) {
        for (Waiting* const each : turn.puts) each->outcome = Outcome::lost;
    } catch (const SaverError&) {  // nothing is stored: each finds out by itself what is wrong with it
    }
    return own.outcome;
}

void PostgresJoiner::execute(PostgresConnection& connection, Turn& turn) {
    PostgresJoinedColumns columns;
    for (const Waiting* each : turn.puts) each->put.addTo(columns);
    const PostgresResult stored =
        connection.run(statements_.joined, columns.encoded(turn.puts.front()->sync), storing_commit);
    for (int row = 0; row < stored.rows(); ++row)
        turn.puts[static_cast<std::size_t>(stored.number(row, 0)) - 1]->outcome = Outcome::stored;
    joined_ += static_cast<std::uint64_t>(stored.rows());
}

}  // namespace stategraph::checkpoint
