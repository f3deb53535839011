#pragma once
#include <chrono>
#include <string>

#include <sys/types.h>

#include <stategraph/mcp/transport.hpp>

namespace stategraph::mcp::detail {

/// A file descriptor that is closed at its end.
class Descriptor {
public:
    Descriptor() noexcept = default;
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }
    int get() const noexcept { return fd_; }
    bool isOpen() const noexcept { return fd_ >= 0; }
    void reset(int fd) noexcept {
        close();
        fd_ = fd;
    }
    void close() noexcept;

private:
    int fd_ = -1;
};

/// Both ends are closed in programs that this one executes. Errors: std::system_error.
void makePipe(Descriptor& reading, Descriptor& writing);
void makeNonBlocking(const Descriptor& descriptor);

/// A process, which leads a process group of its own, and the pipes to it. Its owner must call `end`. Not thread-safe.
class Child {
public:
    /// Starts it. Errors: std::system_error that names the command.
    explicit Child(const ProcessOptions& options);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() { end(); }

    /// Returns whether it has exited, without waiting.
    bool hasExited() noexcept;
    /// "exited with code 3", "was killed by signal 9", or "is still running".
    std::string fate() noexcept;
    /// Readable when the process has exited; -1 if the system has no such descriptor.
    int exitDescriptor() const noexcept { return exit_.get(); }
    /// Sends a signal to the process group.
    void signal(int number) noexcept;
    /// Kills what is left of the process group, and reaps the process.
    void end() noexcept;

    Descriptor in;   // its standard input, not blocking
    Descriptor out;  // its standard output, not blocking
    Descriptor err;

private:
    pid_t process_ = -1;
    Descriptor exit_;
    bool has_exited_ = false;
    int code_ = 0;
    bool was_killed_ = false;
};

}  // namespace stategraph::mcp::detail
