// NOT WITH: sanitize
// An allocation fails within RocksDB's write, after which RocksDB lets each later write wait for ever. The saver must
// refuse them instead, with an error that says what to do, and nothing that was acknowledged may be lost.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/testing/records.hpp>

namespace sg = stategraph;

namespace {

const sg::CheckpointId id((1'700'000'000'000ULL << 16U) | 0x7000U, 0x8000'0000'0000'0042ULL);
constexpr std::size_t large = std::size_t{1} << 20U;
int fails_at = 0;  // which large allocation fails, from 1; 0: none

bool fails(std::size_t size) noexcept { return size >= large && fails_at > 0 && --fails_at == 0; }

void* allocate(std::size_t size) {
    void* const memory = fails(size) ? nullptr : std::malloc(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

bool check(bool holds, const std::string& what) {
    if (!holds) std::printf("wrong: %s\n", what.c_str());
    return holds;
}

std::string record(std::size_t bytes) {
    return sg::testing::makeCommitRecord(
        {.id = id, .changes = {{.channel = "text", .value = sg::Value(std::string(bytes, 'x'))}}});
}

void put(sg::RocksDBSaver& saver, const char* thread, const std::string& record) {
    const sg::CommitRow row{.id = id, .parent = {}, .base = id, .bytes = record};
    saver.put({.log = {thread}, .expected_head = {}, .commits = {&row, 1}, .writes = {}});
}

// What the child found, as its exit status.
enum Found : int { stored = 10, refused = 11, nothing_failed = 12 };

int inChild(const std::string& path, int at) {
    ::alarm(300);
    auto saver = std::make_unique<sg::RocksDBSaver>(path);
    put(*saver, "before", record(10));
    const std::string large_record = record(4 * large);
    bool has_failed = false;
    fails_at = at;
    try {
        put(*saver, "large", large_record);
    } catch (const std::bad_alloc&) {
        has_failed = true;
    } catch (const sg::Error&) {
        has_failed = true;
    }
    if (fails_at > 0 && !has_failed) return nothing_failed;
    fails_at = 0;
    Found found = stored;
    try {
        put(*saver, "after", record(10));
    } catch (const sg::SaverError& error) {
        if (!check(error.message().find("start the program again") != std::string::npos, error.message())) return 1;
        found = refused;
    }
    const std::size_t threads = saver->list({}).size();
    saver.reset();  // must not wait for the write
    return check(threads >= (found == stored ? 2U : 1U), "a thread is missing") ? found : 1;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

int main() {
    bool is_right = true;
    int found = stored;
    for (int at = 1; at < 20 && found != nothing_failed; ++at) {
        const std::string path = "db" + std::to_string(at);
        const pid_t child = ::fork();
        if (child == 0) {
            const int result = inChild(path, at);
            (void)std::fflush(stdout);
            ::_exit(result);
        }
        int status = 0;
        (void)::waitpid(child, &status, 0);
        found = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        const std::string name = "allocation " + std::to_string(at);
        is_right &= check(found >= stored && found <= nothing_failed, name + ", status " + std::to_string(status));
        sg::RocksDBSaver saver(path);
        const auto has = [&](const char* thread) { return saver.getTuple({.log = {thread}}).has_value(); };
        is_right &= check(has("before") && (found != stored || has("after")), name + ": an acknowledged put is gone");
        if (found == nothing_failed) is_right &= check(has("large"), name + ": the large put is gone");
    }
    return is_right & check(found == nothing_failed, "more allocations than expected") ? 0 : 1;
}
