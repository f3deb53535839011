#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/mcp/server.hpp>

#include "mcp/child.hpp"
#include "mcp/message.hpp"
#include "mcp/server/offer.hpp"
#include "mcp/server/outlet.hpp"
#include "mcp/server/peer.hpp"
#include "mcp/server/runner.hpp"
#include "mcp/server/versions.hpp"

// A server on standard input and output.
namespace stategraph::mcp {

namespace detail {

namespace {

constexpr std::size_t piece_max = 4096;  // what poll() says a pipe takes without blocking
constexpr auto last_wait = std::chrono::seconds(5);

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// Keeps what else the program prints from the messages: while it exists, standard output is standard error.
class OwnOutput {
public:
    explicit OwnOutput(int out) : out_(out) {
        if (out != STDOUT_FILENO) return;
        kept_.reset(::fcntl(out, F_DUPFD_CLOEXEC, 3));
        if (!kept_.isOpen()) fail("standard output cannot be used");
        if (::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) fail("standard output cannot be redirected to standard error");
    }
    OwnOutput(const OwnOutput&) = delete;
    OwnOutput& operator=(const OwnOutput&) = delete;
    ~OwnOutput() {
        if (kept_.isOpen()) (void)::dup2(kept_.get(), STDOUT_FILENO);
    }
    int get() const noexcept { return kept_.isOpen() ? kept_.get() : out_; }

private:
    const int out_;
    Descriptor kept_;
};

/// Writes messages on a thread of its own, so that nobody waits for the client but who reads from it.
class Writer final : public Outlet {
public:
    Writer(int out, std::size_t unsent_max) : out_(out), unsent_max_(unsent_max), thread_([this] { work(); }) {}
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    /// Writes what is left, as long as the client reads.
    ~Writer() override {
        {
            const stategraph::detail::LockGuard lock(mutex_);
            is_closing_ = true;
            changed_.notify_all();
        }
        thread_.join();
    }

    void send(std::string message) noexcept override {
        try {
            message += '\n';
            const stategraph::detail::LockGuard lock(mutex_);
            if (is_broken_) return;
            unsent_ += message.size();
            messages_.push_back(std::move(message));
            changed_.notify_all();
        } catch (const std::bad_alloc&) {  // the client misses a message, which is better than the end of the process
        }
    }
    void finish(std::string message, int) noexcept override {
        if (!message.empty()) send(std::move(message));
    }
    bool isFull() const noexcept override {
        const stategraph::detail::LockGuard lock(mutex_);
        return unsent_ > unsent_max_ / 2;
    }
    /// Waits until the client has read enough. Returns false if it reads no more.
    bool waitForRoom() {
        stategraph::detail::UniqueLock lock(mutex_);
        changed_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return is_broken_ || unsent_ <= unsent_max_; });
        return !is_broken_;
    }

private:
    void work() noexcept {
        // A client that has gone is no reason to end the process.
        sigset_t pipe;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        (void)pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
        for (;;) {
            std::string message;
            {
                stategraph::detail::UniqueLock lock(mutex_);
                changed_.wait(lock.native(),
                              [this]() SG_REQUIRES(mutex_) { return is_closing_ || !messages_.empty(); });
                if (messages_.empty()) return;
                message = std::move(messages_.front());
                messages_.pop_front();
            }
            const bool is_written = write(message);
            const stategraph::detail::LockGuard lock(mutex_);
            unsent_ -= message.size();
            if (!is_written) {
                is_broken_ = true;
                messages_.clear();
                unsent_ = 0;
            }
            changed_.notify_all();
        }
    }
    bool write(std::string_view text) noexcept {
        while (!text.empty()) {
            if (!isReady()) return false;
            const std::size_t size = std::min(text.size(), piece_max);
            ssize_t written = ::send(out_, text.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (written < 0 && errno == ENOTSOCK) written = ::write(out_, text.data(), size);
            if (written < 0 && (errno == EAGAIN || errno == EINTR)) continue;
            if (written <= 0) return false;
            text.remove_prefix(static_cast<std::size_t>(written));
        }
        return true;
    }
    /// Waits until the client reads; at the end not for ever.
    bool isReady() noexcept {
        auto patience = last_wait;
        for (;;) {
            pollfd waited{out_, POLLOUT, 0};
            const int ready = ::poll(&waited, 1, 1000);
            if (ready > 0) return true;
            if (ready < 0 && errno != EINTR) return false;
            const stategraph::detail::LockGuard lock(mutex_);
            if (is_closing_ && (patience -= std::chrono::seconds(1)) <= std::chrono::seconds(0)) return false;
        }
    }

    const int out_;
    const std::size_t unsent_max_;
    mutable stategraph::detail::Mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> messages_ SG_GUARDED_BY(mutex_);
    std::size_t unsent_ SG_GUARDED_BY(mutex_) = 0;
    bool is_closing_ SG_GUARDED_BY(mutex_) = false;
    bool is_broken_ SG_GUARDED_BY(mutex_) = false;
    std::thread thread_;  // last, because it uses the others
};

/// The lines of a descriptor. What is longer than the limit is skipped.
class Lines {
public:
    Lines(int in, std::size_t line_max) : in_(in), line_max_(line_max) {}

    /// Reads the next line; `is_skipped`: one that was too long has ended. Returns false at the end of the input.
    bool next(std::string& line, bool& is_skipped) {
        for (;;) {
            if (const std::size_t end = buffer_.find('\n', searched_); end != std::string::npos) {
                is_skipped = std::exchange(skips_, false);
                line.assign(buffer_, 0, is_skipped ? 0 : end);
                buffer_.erase(0, end + 1);
                searched_ = 0;
                return true;
            }
            searched_ = buffer_.size();
            if (skips_ || buffer_.size() > line_max_) {
                skips_ = true;
                buffer_.clear();
                searched_ = 0;
            }
            if (!read()) return false;
        }
    }

private:
    bool read() {
        const std::size_t size = buffer_.size();
        buffer_.resize(size + (64U << 10U));
        ssize_t got = -1;
        do got = ::read(in_, buffer_.data() + size, buffer_.size() - size);
        while (got < 0 && errno == EINTR);
        if (got < 0) fail("the client's messages cannot be read");
        buffer_.resize(size + static_cast<std::size_t>(got));
        return got > 0;
    }

    const int in_;
    const std::size_t line_max_;
    std::string buffer_;
    std::size_t searched_ = 0;
    bool skips_ = false;
};

void takeLine(Peer& peer, std::string_view line, const std::shared_ptr<Outlet>& out) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    for (Incoming& message : readMessages(line)) peer.take(std::move(message), out);
}

}  // namespace

}  // namespace detail

void serveStdio(const Server& server, const StdioOptions& options) {
    const detail::OwnOutput own(options.out);
    const auto runner = std::make_shared<detail::LocalRunner>(options.executor ? options.executor : Executor::common());
    const auto writer = std::make_shared<detail::Writer>(own.get(), options.unsent_bytes_max);
    const auto peer = std::make_shared<detail::Peer>(server.offer(), runner);
    // Whatever ends it, no run may outlive the runner.
    struct Closing {
        detail::Peer& peer;
        detail::LocalRunner& runner;
        ~Closing() {
            peer.close();
            runner.waitUntilNone();
        }
    } const closing{*peer, *runner};
    detail::Lines lines(options.in, options.message_bytes_max);
    std::string line;
    bool is_skipped = false;
    while (writer->waitForRoom() && lines.next(line, is_skipped)) {
        if (is_skipped) {
            writer->send(detail::refusalText(
                "null", detail::not_json,
                "the message is longer than " + std::to_string(options.message_bytes_max) + " bytes"));
            continue;
        }
        detail::takeLine(*peer, line, writer);
    }
}

}  // namespace stategraph::mcp
