#include "storage/postgres/postgres_pool.hpp"

#include <algorithm>
#include <thread>

#include <unistd.h>

namespace stategraph::checkpoint {
namespace {

constexpr std::size_t schema_bytes_max = 63;
constexpr std::size_t connections_limit = 1000;

void checkTime(const char* name, std::chrono::milliseconds time, std::chrono::milliseconds least,
               std::chrono::milliseconds most) {
    if (time >= least && time <= most) return;
    throw InvalidArgumentError(std::string(name) + " is " + std::to_string(time.count()) + " ms; it must be " +
                               std::to_string(least.count()) + " to " + std::to_string(most.count()));
}

}  // namespace

void checkPostgresSettings(const PostgresPoolSettings& settings) {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    const std::string& schema = settings.schema;
    if (schema.empty() || schema.size() > schema_bytes_max || schema.find('\0') != std::string::npos)
        throw InvalidArgumentError("schema '" + schema.substr(0, schema_bytes_max) + "' has " +
                                   std::to_string(schema.size()) + " bytes; it must have 1 to 63, and none of value 0");
    if (settings.connections_max < 1 || settings.connections_max > connections_limit)
        throw InvalidArgumentError("connections_max is " + std::to_string(settings.connections_max) +
                                   "; it must be 1 to " + std::to_string(connections_limit));
    checkTime("connection_wait", settings.connection_wait, milliseconds(0), hours(24));
    checkTime("connect_timeout", settings.connection.connect_timeout, milliseconds(1), hours(1));
    checkTime("statement_timeout", settings.connection.statement_timeout, milliseconds(1), hours(1));
    checkTime("reconnect_for", settings.reconnect_for, milliseconds(0), hours(24));
}

PostgresPool::PostgresPool(PostgresPoolSettings settings)
    : settings_(std::move(settings)),
      errors_(postgresPlace(settings_.connection.conninfo) + ", schema '" + settings_.schema + "'", settings_.schema),
      process_(::getpid()) {
    const detail::LockGuard lock(mutex_);
    idle_.reserve(settings_.connections_max);  // so that returning a connection does not throw
}

PostgresPool::~PostgresPool() = default;

bool PostgresPool::isOwnProcess() const noexcept { return process_ == ::getpid(); }

void PostgresPool::checkProcess() const {
    if (isOwnProcess()) return;
    errors_.fail("process " + std::to_string(process_) +
                 " opened it, and this is a fork of it; open it again, or fork before it is opened");
}

// Returns null if the caller may open a new connection.
std::unique_ptr<PostgresConnection> PostgresPool::take() {
    checkProcess();
    detail::UniqueLock lock(mutex_);
    const bool has_room = came_.wait_for(lock.native(), settings_.connection_wait,
                                         [this]() SG_REQUIRES(mutex_) { return taken_ < settings_.connections_max; });
    if (!has_room)
        errors_.fail("none of its " + std::to_string(settings_.connections_max) + " connections was free within " +
                     std::to_string(settings_.connection_wait.count()) +
                     " ms; raise connections_max or connection_wait, or make fewer calls at the same time");
    ++taken_;
    if (idle_.empty()) return nullptr;
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
}

std::unique_ptr<PostgresConnection> PostgresPool::make(Lease::Kind kind) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + settings_.reconnect_for;
    auto pause = std::chrono::milliseconds(20);
    for (;;) {
        try {
            return std::make_unique<PostgresConnection>(errors_, settings_.connection, round_trips_);
        } catch (const SaverError&) {
            if (kind == Lease::Kind::any || Clock::now() + pause >= deadline) throw;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, std::chrono::milliseconds(500));
    }
}

void PostgresPool::dropIdle() {
    std::vector<std::unique_ptr<PostgresConnection>> old;
    old.reserve(settings_.connections_max);
    const detail::LockGuard lock(mutex_);
    idle_.swap(old);
}

void PostgresPool::giveBack(std::unique_ptr<PostgresConnection> connection) noexcept {
    {
        const detail::LockGuard lock(mutex_);
        --taken_;
        if (connection && connection->isIdle()) idle_.push_back(std::move(connection));
    }
    came_.notify_one();
    // The unusable connection is closed here, without holding the lock.
}

PostgresPool::Lease::Lease(PostgresPool& pool, Kind kind) : pool_(pool), connection_(pool.take()) {
    if (connection_ && kind == Kind::any) return;
    try {
        connection_.reset();
        if (kind == Kind::made_anew) pool.dropIdle();
        connection_ = pool.make(kind);
    } catch (...) {
        pool.giveBack(nullptr);
        throw;
    }
}

PostgresPool::Lease::~Lease() { pool_.giveBack(std::move(connection_)); }

}  // namespace stategraph::checkpoint
