#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/mcp/transport.hpp>

#include "mcp/child.hpp"
#include "mcp/wire.hpp"

namespace stategraph::mcp::detail {

/// Finds messages, one a line, in bytes that arrive in any pieces. Not thread-safe.
class Lines {
public:
    explicit Lines(std::size_t limit) : limit_(limit) {}
    /// Calls `take` for each line that these bytes complete, except for blank ones. Returns false if a line is longer
    /// than the limit.
    template <class F>
    bool feed(std::string_view bytes, F&& take) {
        for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos; bytes.remove_prefix(end + 1)) {
            if (line_.size() + end > limit_) return false;
            line_ += bytes.substr(0, end);
            if (!line_.empty() && line_.back() == '\r') line_.pop_back();
            if (line_.find_first_not_of(" \t") != std::string::npos) take(std::string_view(line_));
            line_.clear();
        }
        line_ += bytes;
        return line_.size() <= limit_;
    }

private:
    std::size_t limit_;
    std::string line_;
};

/// The connection to a child process, with a thread that reads, writes and ends the process.
class ProcessWire final : public Wire {
public:
    ProcessWire(std::shared_ptr<const ProcessOptions> options, WireSink& sink, const WireLimits& limits);
    ~ProcessWire() override { close(); }

    bool send(std::string text, std::int64_t request) override;
    void abandon(std::int64_t) noexcept override {}
    void setVersion(const std::string&) override {}
    void close() noexcept override;
    void end() noexcept override;
    bool isOver() const noexcept override { return is_over_.load(std::memory_order_acquire); }

private:
    void run() noexcept;
    /// One round of waiting and transferring. Returns false, and sets `why_`, when the connection is over.
    bool transfer();
    bool hasOutput() const;
    bool readMessages();
    /// Returns whether there was something to read.
    bool readErrors();
    void readLastErrors();
    void writeQueued();
    void wake() noexcept;
    bool isEnding();
    std::string whyItEnded();
    /// Waits until the process has exited, and drops what it writes meanwhile. Returns false if it takes longer.
    bool awaitExit(std::chrono::milliseconds limit);

    const std::shared_ptr<const ProcessOptions> options_;
    WireSink& sink_;
    const WireLimits limits_;
    Descriptor woken_;
    Descriptor waking_;
    Child child_;

    // Used by the thread alone.
    Lines lines_;
    std::string sending_;      // the message that is being written
    std::size_t sent_ = 0;     // the part of it that was written
    std::string last_errors_;  // the end of what the process wrote to its standard error
    std::string why_;

    std::atomic<bool> is_over_{false};

    stategraph::detail::Mutex mutex_;
    std::deque<std::string> queue_ SG_GUARDED_BY(mutex_);
    std::size_t queued_bytes_ SG_GUARDED_BY(mutex_) = 0;
    bool is_ending_ SG_GUARDED_BY(mutex_) = false;
    std::thread thread_;  // last, because it uses the others
};

}  // namespace stategraph::mcp::detail
