#include "tests/fault/kill/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "tests/fault/kill/watch.hpp"

namespace fault {
namespace {

[[noreturn]] void fail(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

// Returns whether a byte was read (1), the end was reached (0), or nothing came within the time (-1).
int readByte(int file, int timeout_ms) {
    pollfd waits{.fd = file, .events = POLLIN, .revents = 0};
    int found = 0;
    do {
        found = ::poll(&waits, 1, timeout_ms);
    } while (found < 0 && errno == EINTR);
    if (found < 0) fail(errno, "poll");
    if (found == 0) return -1;
    char byte = 0;
    const ssize_t got = ::read(file, &byte, 1);
    if (got < 0) fail(errno, "cannot read from the child");
    return static_cast<int>(got);
}

}  // namespace

std::string Process::Ending::text() const {
    return code ? "exit code " + std::to_string(*code) : "signal " + std::to_string(signal);
}

Process::Process(const std::filesystem::path& program, const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno, "pipe2");
    output_ = ends[0];
    std::vector<std::string> words{program.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int error = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, pointers.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) {
        ::close(output_);
        fail(error, "cannot start " + program.string());
    }
}

Process::~Process() {
    if (!is_over_) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    ::close(output_);
}

bool Process::awaitReady() { return readByte(output_, -1) > 0; }

void Process::signal(int number) const {
    if (!is_over_) ::kill(pid_, number);
}

Process::Ending Process::wait(int timeout_s) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::seconds(timeout_s);
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
        const int got = left > 0 ? readByte(output_, static_cast<int>(left)) : -1;
        if (got == 0) break;
        if (got < 0) throw Failure("the process did not end within " + std::to_string(timeout_s) + " s");
    }
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0) {
        if (errno != EINTR) fail(errno, "waitpid");
    }
    is_over_ = true;
    if (WIFEXITED(status)) return {.code = WEXITSTATUS(status)};
    return {.signal = WTERMSIG(status)};
}

}  // namespace fault
