// NOT WITH: sanitize=thread
// A child of a fork does not use what its parent has open: it reports an error, and damages nothing.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/sqlite_saver.hpp>
#include <stategraph/testing/records.hpp>

#include "tests/support/sanitized.hpp"

namespace sg = stategraph;

namespace {

const std::string path = "threads.db";

// A saver with a thread of its own, which a child of a fork lacks. AddressSanitizer's allocator does not support a fork
// while another thread may use it; nor does SQLite's, so that the fork waits until the thread is idle.
const std::optional<sg::RetentionOptions> retention =
    STATEGRAPH_WITH_ASAN ? std::nullopt : std::optional(sg::RetentionOptions{.keep_last = 10});

bool check(bool holds, const char* what) {
    if (!holds) std::printf("wrong: %s\n", what);
    return holds;
}

void put(sg::SqliteSaver& saver, const char* thread) {
    const sg::CheckpointId id((1'700'000'000'000ULL << 16U) | 0x7000U, 0x8000'0000'0000'0042ULL);
    const std::string bytes = sg::testing::makeCommitRecord({.id = id});
    const sg::CommitRow row{.id = id, .parent = {}, .base = id, .bytes = bytes};
    saver.put({.log = {thread}, .expected_head = {}, .commits = {&row, 1}, .writes = {}});
}

template <class F>
bool refuses(F call) {
    try {
        call();
    } catch (const sg::SaverError& error) {
        return error.message().find("fork") != std::string::npos;
    }
    return false;
}

bool inChild(std::unique_ptr<sg::SqliteSaver>& saver) {
    bool is_right = check(refuses([&] { put(*saver, "child"); }), "a child writes with its parent's saver");
    is_right &= check(refuses([&] { (void)saver->list({}); }), "a child reads with its parent's saver");
    is_right &= check(refuses([&] { const sg::SqliteSaver again(path); }), "a child opens what its parent has open");
    saver.reset();  // must close nothing, and must not wait for the thread that the child lacks
    is_right &= check(std::filesystem::exists(path + "-wal"), "a child removed the log");
    sg::SqliteSaver own("child.db");
    put(own, "child");
    return is_right & check(own.list({}).size() == 1, "a child cannot use a file of its own");
}

bool childIsRight(std::unique_ptr<sg::SqliteSaver>& saver) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(300);  // so that a hang ends
        const bool is_right = inChild(saver);
        std::fflush(stdout);
        ::_exit(is_right ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child");
}

}  // namespace

int main() {
    auto saver = std::make_unique<sg::SqliteSaver>(path, sg::SqliteSaverOptions{.retention = retention});
    put(*saver, "before");
    while (retention && saver->retentionReport().runs == 0) std::this_thread::yield();
    bool is_right = childIsRight(saver);
    put(*saver, "after");
    is_right &= check(saver->list({}).size() == 2, "the parent's threads");
    saver.reset();
    // Now no process has it open.
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(300);
        sg::SqliteSaver again(path);
        put(again, "of the child");
        ::_exit(again.list({}).size() == 3 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    is_right &= check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child that opens a file that is closed");
    return is_right ? 0 : 1;
}
