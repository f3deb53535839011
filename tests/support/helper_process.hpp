#pragma once
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace helpers {

/// Starts this test program in another process, with one of the cases that are otherwise skipped. The destructor kills
/// it.
class Helper {
public:
    /// The case finds the first two in STATEGRAPH_TEST_DATABASE and STATEGRAPH_TEST_NOTES, and the number in
    /// STATEGRAPH_TEST_NUMBER.
    Helper(const char* test_case, const std::string& database, const std::filesystem::path& notes, int number = 0) {
        ::setenv("STATEGRAPH_TEST_DATABASE", database.c_str(), 1);
        ::setenv("STATEGRAPH_TEST_NOTES", notes.c_str(), 1);
        ::setenv("STATEGRAPH_TEST_NUMBER", std::to_string(number).c_str(), 1);
        const std::string filter = std::string("--test-case=") + test_case;
        process_ = ::fork();
        if (process_ == 0) {
            ::execl("/proc/self/exe", "helper", filter.c_str(), "--no-skip", "--no-run=false",
                    static_cast<char*>(nullptr));
            ::_exit(127);
        }
        for (const char* name : {"STATEGRAPH_TEST_DATABASE", "STATEGRAPH_TEST_NOTES", "STATEGRAPH_TEST_NUMBER"})
            ::unsetenv(name);
    }
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;
    ~Helper() { kill(); }

    void kill() {
        if (process_ <= 0) return;
        ::kill(process_, SIGKILL);
        (void)wait();
    }
    /// Stops the process, as if its computer slept, and continues it.
    void freeze() const { ::kill(process_, SIGSTOP); }
    void thaw() const { ::kill(process_, SIGCONT); }
    /// Waits until the process is frozen.
    void awaitFrozen() const { ::waitpid(process_, nullptr, WUNTRACED); }
    /// Sends a signal; SIGSTOP freezes the process, SIGCONT continues it.
    void signal(int number) const {
        if (process_ > 0) ::kill(process_, number);
    }
    /// Waits for the process and returns its exit code.
    int wait() {
        int status = 0;
        ::waitpid(process_, &status, 0);
        process_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t process_ = -1;
};

/// A parameter of a helper's case; empty if it runs as an ordinary case.
inline std::string given(const char* name) {
    const char* const text = std::getenv(name);
    return text ? text : "";
}

/// Waits until the file has that many whole lines, for five minutes at most. Errors: std::runtime_error after that.
inline void awaitLines(const std::filesystem::path& file, std::size_t wanted) {
    for (int i = 0; i < 30'000; ++i) {
        std::ifstream in(file);
        std::size_t lines = 0;  // whole ones
        for (char c = 0; in.get(c);) lines += c == '\n' ? 1 : 0;
        if (lines >= wanted) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // sleeps: between two looks
    }
    throw std::runtime_error("no such lines came: " + file.string());
}

}  // namespace helpers
