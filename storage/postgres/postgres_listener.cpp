#include <stategraph/postgres_listener.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "storage/postgres/postgres_impl.hpp"
#include "storage/postgres/postgres_notices.hpp"

// The thread that listens. It waits for the server and for the end of the object at the same time.
namespace stategraph {
namespace {

using checkpoint::PostgresConnection;
using std::chrono::milliseconds;

constexpr milliseconds pause_min{100};
constexpr milliseconds pause_max{5'000};
// After so long without a notification the listener asks whether the server is still there.
constexpr milliseconds silence_max{30'000};
// How long a listener's notification to itself may take. The server sends it before the answer to the statement.
constexpr milliseconds probe_wait{2'000};

/// A pipe whose reading end becomes readable when somebody stops.
class Stop {
public:
    Stop() {
        if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0)
            throw std::system_error(errno, std::generic_category(), "a PostgresListener needs a pipe");
    }
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;
    ~Stop() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    int reader() const noexcept { return ends_[0]; }
    void set() noexcept {
        is_set_ = true;
        (void)!::write(ends_[1], "x", 1);
    }
    bool isSet() const noexcept { return is_set_; }
    void waitFor(milliseconds time) const noexcept {
        pollfd poll{ends_[0], POLLIN, 0};
        (void)::poll(&poll, 1, static_cast<int>(time.count()));
    }

private:
    int ends_[2] = {-1, -1};
    std::atomic<bool> is_set_{false};
};

}  // namespace

struct PostgresListener::Impl {
    Impl(const checkpoint::PostgresPool& pool, PostgresListenerOptions given)
        : options(std::move(given)),
          settings(pool.settings().connection),
          errors(pool.errors()),
          channel(checkpoint::postgresChannel(errors.schema())),
          process(::getpid()),
          thread([this] { run(); }) {}

    void run() noexcept;
    void listen();
    void probe(PostgresConnection& connection);
    void take(const std::vector<std::string>& texts) noexcept;
    void report(PostgresNotice notice, const std::string& name) const noexcept;

    const PostgresListenerOptions options;
    const checkpoint::PostgresSettings settings;
    const checkpoint::PostgresErrors errors;
    const std::string channel;
    const pid_t process;
    std::atomic<std::uint64_t> round_trips{0};
    std::atomic<std::uint64_t> connections{0};
    std::atomic<std::uint64_t> received{0};
    Stop stop;
    milliseconds pause{0};  // of the thread alone
    std::thread thread;
};

PostgresListener::PostgresListener(const std::shared_ptr<PostgresSaver>& saver, PostgresListenerOptions options) {
    if (!saver) throw InvalidArgumentError("a PostgresListener needs a PostgresSaver, and was given none");
    if (!options.on_notice) throw InvalidArgumentError("a PostgresListener needs on_notice, and was given none");
    const checkpoint::PostgresPool& pool = saver->impl_->pool;
    if (!pool.settings().connection.prepared_statements)
        throw InvalidArgumentError("the database " + pool.errors().place() +
                                   " was opened for a pooler in transaction mode (prepared_statements is off), which "
                                   "passes on no notifications: open a PostgresSaver directly on the server for the "
                                   "listener, or rely on polling alone");
    impl_ = std::make_unique<Impl>(pool, std::move(options));
}

PostgresListener::~PostgresListener() {
    if (impl_->process != ::getpid()) {  // a child of a fork does not have the thread
        (void)impl_.release();
        return;
    }
    impl_->stop.set();
    impl_->thread.join();
}

std::uint64_t PostgresListener::connections() const noexcept { return impl_->connections; }
std::uint64_t PostgresListener::received() const noexcept { return impl_->received; }

void PostgresListener::Impl::run() noexcept {
    while (!stop.isSet()) {
        try {
            listen();
        } catch (...) {
            pause = std::clamp(2 * pause, pause_min, pause_max);
            try {
                if (options.on_error && !stop.isSet()) options.on_error(std::current_exception());
            } catch (...) {
            }
        }
        if (!stop.isSet()) stop.waitFor(pause);
    }
}

void PostgresListener::Impl::listen() {
    constexpr const char* work = "listen for notifications";
    PostgresConnection connection(errors, settings, round_trips);
    (void)connection.command("LISTEN " + checkpoint::quotedName(channel), work);
    probe(connection);
    pause = milliseconds(0);
    ++connections;
    report(PostgresNotice::listening, {});
    while (!stop.isSet()) {
        const std::vector<std::string> texts = connection.notifications(stop.reader(), silence_max);
        take(texts);
        if (texts.empty() && !stop.isSet()) (void)connection.command("SELECT 1", work);
    }
}

// A pooler would answer each statement, and pass on no notification.
void PostgresListener::Impl::probe(PostgresConnection& connection) {
    const std::string text = std::string(checkpoint::probe_prefix) + std::to_string(::getpid()) + "." +
                             std::to_string(reinterpret_cast<std::uintptr_t>(this));
    checkpoint::PostgresArray texts(checkpoint::text_type);
    texts.add(text);
    checkpoint::PostgresParameters parameters;
    (void)connection.run(checkpoint::notifyStatement(), parameters.text(channel).owned(texts.encoded()),
                         "notify itself");
    const auto end = std::chrono::steady_clock::now() + probe_wait;
    while (!stop.isSet()) {
        const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
        const auto came = connection.notifications(stop.reader(), std::max(left, milliseconds(0)));
        take(came);
        if (std::ranges::find(came, text) != came.end()) return;
        if (left.count() <= 0 && came.empty())  // this thread may have been paused, so it has looked in any case
            errors.fail(
                "a notification of a listener to itself did not come: if there is a pooler in transaction mode between "
                "the program and the server, connect directly");
    }
}

void PostgresListener::Impl::take(const std::vector<std::string>& texts) noexcept {
    received += texts.size();
    for (const std::string& text : texts) {
        try {
            const auto notice = checkpoint::decodeNotice(text);
            if (notice) report(notice->notice, notice->name);
        } catch (...) {  // there is no memory: the receiver notices it when it polls
        }
    }
}

void PostgresListener::Impl::report(PostgresNotice notice, const std::string& name) const noexcept {
    try {
        options.on_notice(notice, name);
    } catch (...) {
    }
}

}  // namespace stategraph
