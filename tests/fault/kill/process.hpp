#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fault {

/// A child process with its standard output in a pipe. A byte says that it is ready, and the end of the pipe that it
/// has ended.
class Process {
public:
    /// How it ended: with an exit code, or by a signal.
    struct Ending {
        std::optional<int> code = {};
        int signal = 0;
        std::string text() const;
    };

    /// Starts it. Throws std::system_error if it cannot be started.
    Process(const std::filesystem::path& program, const std::vector<std::string>& arguments);
    /// Kills it if it still runs.
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// Waits until it is ready. Returns false if it ended before.
    bool awaitReady();
    pid_t pid() const noexcept { return pid_; }
    /// Sends it a signal; nothing happens if it has ended.
    void signal(int number) const;
    /// Waits until it ends. Throws Failure if it does not within `timeout_s`.
    Ending wait(int timeout_s);

private:
    pid_t pid_ = -1;
    int output_ = -1;
    bool is_over_ = false;
};

}  // namespace fault
