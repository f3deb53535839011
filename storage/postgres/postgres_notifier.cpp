#include "storage/postgres/postgres_notifier.hpp"

#include <utility>

#include "storage/postgres/postgres_notices.hpp"

namespace stategraph::checkpoint {
namespace {

// Beyond this, one notification says that there is more than is named.
constexpr std::size_t waiting_max = 1'000;

}  // namespace

void checkPostgresNotify(const PostgresNotifyOptions& options) {
    if (options.interval >= std::chrono::milliseconds(1) && options.interval <= std::chrono::minutes(1)) return;
    throw InvalidArgumentError("notify.interval is " + std::to_string(options.interval.count()) +
                               " ms; it must be 1 to 60000");
}

PostgresNotifier::PostgresNotifier(PostgresPool& pool, const PostgresNotifyOptions& options)
    : pool_(pool), options_(options), channel_(postgresChannel(pool.errors().schema())), thread_([this] { run(); }) {}

PostgresNotifier::~PostgresNotifier() {
    {
        const detail::LockGuard lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void PostgresNotifier::note(PostgresNotice notice, std::string_view name) noexcept {
    if (!(notice == PostgresNotice::commit ? options_.commits : options_.work)) return;
    try {
        const detail::LockGuard lock(mutex_);
        const bool was_empty = waiting_.empty();
        waiting_.insert(encodeNotice(notice, waiting_.size() < waiting_max ? name : std::string_view()));
        if (was_empty) changed_.notify_all();
    } catch (...) {  // there is no memory: readers notice it when they poll
    }
}

void PostgresNotifier::run() noexcept {
    for (;;) {
        std::set<std::string> texts;
        bool is_last = false;
        {
            detail::UniqueLock lock(mutex_);
            changed_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return is_ending_ || !waiting_.empty(); });
            texts.swap(waiting_);
            is_last = is_ending_;
        }
        if (!texts.empty()) send(texts);
        if (is_last) return;
        detail::UniqueLock lock(mutex_);
        changed_.wait_for(lock.native(), options_.interval, [this]() SG_REQUIRES(mutex_) { return is_ending_; });
    }
}

void PostgresNotifier::send(const std::set<std::string>& texts) noexcept {
    try {
        ++sent_;
        PostgresArray array(text_type);
        for (const std::string& text : texts) array.add(text);
        static const PostgresStatement statement = notifyStatement();
        PostgresPool::Lease connection(pool_);
        PostgresParameters parameters;
        (void)connection->run(statement, parameters.text(channel_).owned(array.encoded()), "notify other processes");
    } catch (...) {  // readers notice it when they poll
    }
}

}  // namespace stategraph::checkpoint
