#include "storage/postgres/postgres_thread_holds.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <stategraph/error.hpp>

#include "storage/postgres/postgres_hold_tables.hpp"
#include "storage/postgres/postgres_tables.hpp"

namespace stategraph::checkpoint {
namespace {

using std::chrono::milliseconds;

constexpr const char* holding = "hold a thread";
constexpr const char* giving_back = "give a thread back";
constexpr const char* staying_alive = "keep the session of held threads";

// The server is asked so often whether it is there, and finds out in about twice that time that a computer is gone.
constexpr milliseconds silence_max{5'000};
constexpr milliseconds pause_min{10};
constexpr milliseconds pause_max{250};
// A process that was killed may have its session for a moment longer. So one that has just come, perhaps in its place,
// asks again.
constexpr milliseconds arrival{1'000};
constexpr milliseconds asked_each{10};
// A run does not wait longer than that for what it gives back.
constexpr milliseconds give_back_wait{2'000};

std::string textOf(const std::exception_ptr& error) noexcept {
    try {
        return detail::describe(error);
    } catch (...) {
        return "no memory";  // without one of its own
    }
}

}  // namespace

/// Becomes readable when the thread has something to do.
class PostgresThreadHolds::Signal {
public:
    Signal() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (descriptor_ < 0)
            throw std::system_error(errno, std::generic_category(),
                                    "a PostgresSaver that holds threads needs an eventfd");
    }
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;
    ~Signal() { ::close(descriptor_); }
    int reader() const noexcept { return descriptor_; }
    void set() const noexcept { (void)::eventfd_write(descriptor_, 1); }
    /// Returns whether it was set.
    bool take() const noexcept {
        eventfd_t count = 0;
        return ::eventfd_read(descriptor_, &count) == 0;
    }
    void waitFor(milliseconds time) const noexcept {
        pollfd poll{descriptor_, POLLIN, 0};
        (void)::poll(&poll, 1, static_cast<int>(time.count()));
    }

private:
    const int descriptor_;
};

class PostgresThreadHolds::Hold final : public ThreadHold {
public:
    Hold(std::shared_ptr<PostgresThreadHolds> holds, std::string_view thread_id)
        : holds_(std::move(holds)), thread_id_(thread_id) {}
    ~Hold() override {
        if (holds_) holds_->giveBack(thread_id_);
    }
    /// For one that was not got.
    void leave() noexcept { holds_.reset(); }

private:
    std::shared_ptr<PostgresThreadHolds> holds_;
    const std::string thread_id_;
};

PostgresThreadHolds::PostgresThreadHolds(const PostgresPoolSettings& settings, const std::string& quoted_schema)
    : settings_(settings),
      errors_(postgresPlace(settings.connection.conninfo) + ", schema '" + settings.schema + "'", settings.schema),
      process_(::getpid()),
      hold_{"hold_thread", inSchema("SELECT {S}.hold_thread($1, $2)", quoted_schema), {bytea_type, bigint_type}},
      give_back_{"give_back",
                 inSchema("DELETE FROM {S}.holds h USING unnest($1, $2) AS u (thread, epoch) WHERE h.thread = u.thread "
                          "AND h.epoch = u.epoch RETURNING set_config('synchronous_commit', 'off', true)",
                          quoted_schema),
                 {bytea_array_type, bigint_array_type}},
      lock_{"lock_holder",
            inSchema("SELECT pg_advisory_lock(hashtextextended('{S}.holds' || $1, 10))", quoted_schema),
            {bigint_type}},
      new_number_{"new_holder", inSchema("SELECT nextval('{S}.epochs')", quoted_schema), {}},
      tidy_{"tidy_holds",
            inSchema("DELETE FROM {S}.holds h USING (SELECT d.thread FROM {S}.holds d WHERE "
                     "d.holder <> $1 AND {S}.is_holder_gone(d.holder) FOR UPDATE SKIP LOCKED) g WHERE h.thread = "
                     "g.thread",
                     quoted_schema),
            {bigint_type}},
      note_start_{"note_start", inSchema(postgres_note_start, quoted_schema), {}} {}

PostgresThreadHolds::~PostgresThreadHolds() {
    if (process_ != ::getpid()) {  // a child of a fork does not have the thread
        (void)new (std::nothrow) std::thread(std::move(thread_));
        return;
    }
    std::thread thread;
    {
        const detail::LockGuard lock(mutex_);
        is_ending_ = true;
        thread.swap(thread_);
    }
    if (!thread.joinable()) return;
    signal_->set();
    thread.join();
}

std::unique_ptr<ThreadHold> PostgresThreadHolds::tryHold(PostgresPool& pool, std::string_view thread_id) {
    pool.checkProcess();
    auto hold = std::make_unique<Hold>(shared_from_this(), thread_id);
    {
        const detail::LockGuard lock(mutex_);
        if (!held_.try_emplace(std::string(thread_id)).second) {
            hold->leave();
            return nullptr;
        }
    }
    const Clock::time_point came = awaitSession();
    const auto ask = [&](PostgresConnection& connection) { return holdAgain(connection, thread_id); };
    for (;;) {
        if (pool.repeat(ask)) return hold;
        if (Clock::now() >= came + arrival) return nullptr;
        std::this_thread::sleep_for(asked_each);
    }
}

bool PostgresThreadHolds::holdAgain(PostgresConnection& connection, std::string_view thread_id) {
    const PostgresResult rows = connection.run(hold_, PostgresParameters().bytes(thread_id).number(number_), holding);
    if (rows.isNull(0, 0)) return false;
    const detail::LockGuard lock(mutex_);
    const auto found = held_.find(thread_id);
    if (found != held_.end()) {
        found->second = {.epoch = rows.number(0, 0), .is_taken_again = found->second.epoch != 0};
    } else {  // the run has ended meanwhile, so nobody else would give it back
        ended_.insert_or_assign(std::string(thread_id), rows.number(0, 0));
        ++ends_;
        signal_->set();
    }
    return true;
}

std::optional<std::int64_t> PostgresThreadHolds::epochOf(std::string_view thread_id) const {
    if (process_ != ::getpid()) return std::nullopt;
    const detail::LockGuard lock(mutex_);
    const auto found = held_.find(thread_id);
    if (found == held_.end() || found->second.epoch == 0) return std::nullopt;
    return found->second.epoch;
}

void PostgresThreadHolds::noteEnded(std::string_view thread_id) noexcept {
    const detail::LockGuard lock(mutex_);
    const auto found = held_.find(thread_id);
    if (found != held_.end() && !found->second.is_taken_again) found->second.has_ended = true;
}

// Returns when others can hold the thread, unless the session is lost: then it is given back later.
void PostgresThreadHolds::giveBack(const std::string& thread_id) noexcept {
    if (process_ != ::getpid()) return;
    detail::UniqueLock lock(mutex_);
    auto node = held_.extract(thread_id);
    if (node.empty() || node.mapped().epoch == 0 || node.mapped().has_ended) return;
    try {
        ended_.insert_or_assign(thread_id, node.mapped().epoch);
    } catch (...) {
        return;  // there is no memory: it is given back when the session ends, or with the thread's next hold
    }
    const std::uint64_t own = ++ends_;
    signal_->set();
    changed_.wait_for(lock.native(), give_back_wait,
                      [&]() SG_REQUIRES(mutex_) { return ends_sent_ >= own || !is_alive_; });
}

// Returns since when the holder has its number. Errors: why there is no session, after the time in which a call tries
// to reconnect.
PostgresThreadHolds::Clock::time_point PostgresThreadHolds::awaitSession() {
    detail::UniqueLock lock(mutex_);
    if (is_alive_) return came_;
    if (!thread_.joinable()) {
        signal_ = std::make_unique<Signal>();
        thread_ = std::thread([this] { run(); });
    }
    const auto end = Clock::now() + settings_.reconnect_for;
    const std::uint64_t own = tries_.begun + 1;  // one that is under way may have begun before the server was there
    changed_.wait(lock.native(), [&]() SG_REQUIRES(mutex_) {
        return is_alive_ || (tries_.failed >= own && (number_ == 0 || Clock::now() >= end));
    });
    if (!is_alive_) throw SaverError(tries_.why);
    return came_;
}

void PostgresThreadHolds::run() noexcept {
    milliseconds pause = pause_min;
    for (;;) {
        std::string failure("it has ended");
        try {
            noteTry();
            serve();
        } catch (...) {
            failure = textOf(std::current_exception());
        }
        {
            const detail::LockGuard lock(mutex_);
            if (is_alive_) pause = pause_min;
            is_alive_ = false;
            tries_.failed = tries_.begun;
            tries_.why.swap(failure);
            if (is_ending_) return;
        }
        changed_.notify_all();
        signal_->waitFor(pause);
        pause = std::min(2 * pause, pause_max);
    }
}

void PostgresThreadHolds::noteTry() {
    const detail::LockGuard lock(mutex_);
    ++tries_.begun;
}

// Returns when the object ends.
void PostgresThreadHolds::serve() {
    PostgresConnection session(errors_, settings_.connection, round_trips_);
    lockNumber(session);
    {
        const detail::LockGuard lock(mutex_);
        if (came_ == Clock::time_point()) came_ = Clock::now();
        is_alive_ = true;
    }
    changed_.notify_all();
    for (;;) {
        const bool was_told = signal_->take();
        bool is_last = false;
        {
            const detail::LockGuard lock(mutex_);
            is_last = is_ending_;
        }
        sendEnded(session);
        if (is_last) return;
        if (!was_told) (void)session.command("SELECT 1", staying_alive);
        (void)session.notifications(signal_->reader(), silence_max);
    }
}

// Others know by this lock that the holder is alive.
void PostgresThreadHolds::lockNumber(PostgresConnection& session) {
    if (number_ == 0) {
        // Another server that takes this one's place must not give the number once more.
        const std::int64_t number = session.run(new_number_, {}, staying_alive).number(0, 0);
        session.makeDurable(staying_alive);
        number_ = number;
    }
    (void)session.command("SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3",
                          staying_alive);
    (void)session.run(lock_, PostgresParameters().number(number_), staying_alive);
    (void)session.run(note_start_, {}, staying_alive);
    (void)session.run(tidy_, PostgresParameters().number(number_), staying_alive);
}

void PostgresThreadHolds::sendEnded(PostgresConnection& session) {
    std::uint64_t reached = 0;
    {
        const detail::LockGuard lock(mutex_);
        sending_.merge(ended_);  // an epoch that is still to be sent was replaced by the later one
        for (const auto& [thread, epoch] : ended_) sending_.find(thread)->second = epoch;
        ended_.clear();
        reached = ends_;
    }
    if (!sending_.empty()) {
        PostgresArray threads(bytea_type);
        PostgresArray epochs(bigint_type);
        for (const auto& [thread, epoch] : sending_) {
            threads.add(thread);
            epochs.addNumber(epoch);
        }
        PostgresParameters parameters;
        parameters.owned(threads.encoded()).owned(epochs.encoded());
        (void)session.run(give_back_, parameters, giving_back);
        sending_.clear();
    }
    {
        const detail::LockGuard lock(mutex_);
        ends_sent_ = reached;
    }
    changed_.notify_all();
}

}  // namespace stategraph::checkpoint
