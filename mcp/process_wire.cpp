#include "mcp/process_wire.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include <stategraph/error.hpp>

#include "mcp/message.hpp"

namespace stategraph::mcp::detail {

namespace {

constexpr std::size_t piece_size = 16384;
constexpr std::size_t kept_errors = 600;
// How much of what a process had written before it ended is read, in pieces.
constexpr int last_pieces = 64;
/// How often a process is looked at if the system cannot report its end.
constexpr int look_ms = 500;

/// Returns what can be read without waiting, at most a piece. Sets `is_over` at the end of the stream.
std::string_view readPiece(const Descriptor& from, std::array<char, piece_size>& buffer, bool& is_over) {
    const ssize_t size = ::read(from.get(), buffer.data(), buffer.size());
    is_over = size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
    return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// No signal of the program is handled on the thread. A write to a process that has ended then leaves SIGPIPE pending,
/// and the thread ends with it.
void blockSignals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

ProcessWire::ProcessWire(std::shared_ptr<const ProcessOptions> options, WireSink& sink, const WireLimits& limits)
    : options_(std::move(options)), sink_(sink), limits_(limits), child_(*options_), lines_(limits.max_message_bytes) {
    makePipe(woken_, waking_);
    makeNonBlocking(woken_);
    makeNonBlocking(waking_);
    thread_ = std::thread([this] { run(); });
}

bool ProcessWire::send(std::string text, std::int64_t) {
    text += '\n';
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (queued_bytes_ + text.size() > limits_.max_unsent_bytes) return false;
        queued_bytes_ += text.size();
        queue_.push_back(std::move(text));
    }
    wake();
    return true;
}

void ProcessWire::wake() noexcept {
    const char byte = 0;
    (void)!::write(waking_.get(), &byte, 1);  // if the pipe is full, the thread wakes anyway
}

bool ProcessWire::isEnding() {
    const stategraph::detail::LockGuard lock(mutex_);
    return is_ending_;
}

void ProcessWire::end() noexcept {
    {
        const stategraph::detail::LockGuard lock(mutex_);
        is_ending_ = true;
    }
    wake();
}

void ProcessWire::close() noexcept {
    end();
    if (thread_.joinable()) thread_.join();
}

void ProcessWire::run() noexcept {
    blockSignals();
    try {
        while (transfer()) {
        }
    } catch (const std::exception& error) {
        why_ = joined("the connection failed: ", error.what());
    }
    child_.in.close();
    if (!isEnding()) sink_.onBroken(why_);
    if (!awaitExit(options_->end_wait)) {
        child_.signal(SIGTERM);
        awaitExit(options_->end_wait);
    }
    child_.end();
    is_over_.store(true, std::memory_order_release);
}

bool ProcessWire::transfer() {
    bool has_more = sent_ < sending_.size();
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (is_ending_) return false;
        has_more = has_more || !queue_.empty();
    }
    std::array<pollfd, 5> polled{{{woken_.get(), POLLIN, 0},
                                  {child_.out.get(), POLLIN, 0},
                                  {child_.err.get(), POLLIN, 0},
                                  {has_more ? child_.in.get() : -1, POLLOUT, 0},
                                  {child_.exitDescriptor(), POLLIN, 0}}};
    const int found = ::poll(polled.data(), polled.size(), child_.exitDescriptor() < 0 ? look_ms : -1);
    if (found < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    if (found < 0) return true;
    if (polled[0].revents != 0) {
        std::array<char, 64> ignored;
        while (::read(woken_.get(), ignored.data(), ignored.size()) > 0) {
        }
    }
    if (polled[2].revents != 0) (void)readErrors();
    if (polled[1].revents != 0) {
        if (!readMessages()) return false;
    } else if (child_.hasExited() && !hasOutput()) {  // processes that it started may keep the pipe open
        why_ = whyItEnded();
        return false;
    }
    if (polled[3].revents != 0) writeQueued();
    return true;
}

/// Whether the process wrote something, or closed its output, since the last poll.
bool ProcessWire::hasOutput() const {
    pollfd output{child_.out.get(), POLLIN, 0};
    return ::poll(&output, 1, 0) > 0;
}

bool ProcessWire::readMessages() {
    std::array<char, piece_size> buffer;
    bool is_over = false;
    const std::string_view piece = readPiece(child_.out, buffer, is_over);
    if (!lines_.feed(piece, [this](std::string_view line) { sink_.onMessage(line); })) {
        why_ = "it sent a message of more than " + std::to_string(limits_.max_message_bytes) +
               " bytes, which is ClientOptions::max_message_bytes";
        return false;
    }
    if (is_over) why_ = whyItEnded();
    return !is_over;
}

bool ProcessWire::readErrors() {
    std::array<char, piece_size> buffer;
    bool is_over = false;
    const std::string_view piece = readPiece(child_.err, buffer, is_over);
    if (is_over) child_.err.close();
    if (piece.empty()) return false;
    last_errors_ += piece;
    if (last_errors_.size() > kept_errors) last_errors_.erase(0, last_errors_.size() - kept_errors);
    if (options_->on_stderr) options_->on_stderr(piece);
    return true;
}

void ProcessWire::readLastErrors() {
    for (int left = last_pieces; left > 0 && child_.err.isOpen() && readErrors(); --left) {
    }
}

void ProcessWire::writeQueued() {
    if (sent_ == sending_.size()) {
        const stategraph::detail::LockGuard lock(mutex_);
        if (queue_.empty()) return;
        sending_ = std::move(queue_.front());
        queue_.pop_front();
        sent_ = 0;
    }
    const ssize_t size = ::write(child_.in.get(), sending_.data() + sent_, sending_.size() - sent_);
    if (size < 0 && errno != EAGAIN && errno != EINTR) {
        child_.in.close();  // its output says what happened
        return;
    }
    if (size > 0) sent_ += static_cast<std::size_t>(size);
    if (sent_ == sending_.size()) {
        const stategraph::detail::LockGuard lock(mutex_);
        queued_bytes_ -= sending_.size();
    }
}

std::string ProcessWire::whyItEnded() {
    // A process that ends closes its output a moment before.
    const auto end = std::chrono::steady_clock::now() + options_->end_wait;
    while (!child_.hasExited() && !isEnding() && std::chrono::steady_clock::now() < end) {
        pollfd exit{child_.exitDescriptor(), POLLIN, 0};
        ::poll(&exit, 1, 10);
    }
    readLastErrors();
    std::string why = child_.hasExited() ? "its process " + child_.fate() : "its process closed its standard output";
    if (!last_errors_.empty()) why += "; the end of what it wrote to stderr: " + quotedPart(last_errors_, kept_errors);
    return why;
}

bool ProcessWire::awaitExit(std::chrono::milliseconds limit) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + limit;
    std::array<char, piece_size> buffer;
    while (!child_.hasExited()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
        if (left.count() <= 0) return false;
        std::array<pollfd, 3> polled{
            {{child_.exitDescriptor(), POLLIN, 0}, {child_.out.get(), POLLIN, 0}, {child_.err.get(), POLLIN, 0}}};
        const int most = child_.exitDescriptor() < 0 ? 10 : look_ms;
        ::poll(polled.data(), polled.size(), static_cast<int>(std::min<std::int64_t>(left.count(), most)));
        bool is_over = false;
        if (polled[1].revents != 0) (void)readPiece(child_.out, buffer, is_over);
        if (is_over) child_.out.close();
        if (polled[2].revents != 0) (void)readErrors();
    }
    readLastErrors();
    return true;
}

namespace {

class ProcessConnector final : public Connector {
public:
    explicit ProcessConnector(ProcessOptions options)
        : options_(std::make_shared<const ProcessOptions>(std::move(options))) {}
    std::unique_ptr<Wire> connect(WireSink& sink, const WireLimits& limits) const override {
        return std::make_unique<ProcessWire>(options_, sink, limits);
    }

private:
    std::shared_ptr<const ProcessOptions> options_;
};

void checkNoNul(const std::string& text, const char* what) {
    if (text.find('\0') != std::string::npos)
        throw InvalidArgumentError(std::string(what) + " of an MCP server has a NUL byte; remove it");
}

}  // namespace

}  // namespace stategraph::mcp::detail

namespace stategraph::mcp {

Transport process(ProcessOptions options) {
    if (options.command.empty()) {
        throw InvalidArgumentError(
            "an MCP server that is a process needs a program: set ProcessOptions::command, such as \"npx\"");
    }
    if (options.end_wait < std::chrono::milliseconds(0) || options.end_wait > std::chrono::hours(1))
        throw InvalidArgumentError("ProcessOptions::end_wait must be from 0 to one hour");
    detail::checkNoNul(options.command, "the command");
    detail::checkNoNul(options.folder, "the folder");
    for (const std::string& argument : options.arguments) detail::checkNoNul(argument, "an argument");
    for (const std::string& name : options.inherited) detail::checkNoNul(name, "the name of a variable");
    for (const auto& [name, value] : options.environment) {
        detail::checkNoNul(name + value, "an environment variable");
        if (name.empty() || name.find('=') != std::string::npos)
            throw InvalidArgumentError("'" + name + "' cannot be the name of an environment variable of an MCP server");
    }
    return Transport(std::make_shared<detail::ProcessConnector>(std::move(options)));
}

}  // namespace stategraph::mcp
