// Long threads in the tables of a database are read for the first time, and each read of the disk fails in turn. The
// call must fail and name the path, or return all that it returns on a healthy disk; and so must the next call.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

namespace sg = stategraph;
using sg::testing::nthId;

namespace {

struct Disk {
    std::atomic<bool> is_on = false;
    std::atomic<long> calls = 0;
    std::atomic<long> failed = 0;
    std::atomic<long> first = 0;  // the number of the read that fails
};
Disk disk;

bool fails() {
    if (!disk.is_on || disk.calls++ != disk.first) return false;
    ++disk.failed;
    errno = EIO;
    return true;
}

template <class F>
F next(const char* name) {
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

int failures = 0;

void check(bool is_so, const std::string& what) {
    if (is_so) return;
    ++failures;
    std::cerr << "FAILED: " << what << std::endl;
}

constexpr unsigned rows = 160;

/// Shape 0 is a line, 1 a line with an abandoned branch in its middle, 2 two branches that grow alternately.
unsigned parentOf(int shape, unsigned n) {
    if (shape == 1) return n == 81 ? 40 : n - 1;
    if (shape == 2 && n > 2) return n - 2;
    return n - 1;
}

std::string nameOf(int shape, long nth) { return std::to_string(shape) + " " + std::to_string(nth); }

void store(sg::BaseCheckpointSaver& saver, const std::string& thread, int shape) {
    for (unsigned n = 1; n <= rows; ++n) {
        // Random bytes, which compression cannot shrink.
        std::string text(1000, ' ');
        for (std::size_t i = 0; i < text.size(); ++i)
            text[i] = static_cast<char>('a' + (i * 7919 + n * 104'729 + i * i * 31) % 26);
        sg::testing::putOne(saver, {thread}, n > 1 ? nthId(n - 1) : sg::CheckpointId(),
                            sg::testing::makeCommit(n, parentOf(shape, n), n > 1 ? 1 : 0, text));
    }
}

/// Everything that reading returns, as one text.
std::string shown(sg::BaseCheckpointSaver& saver, const std::string& thread, unsigned n) {
    const auto tuple = saver.getTuple({.log = {thread}, .checkpoint_id = n == rows ? sg::CheckpointId() : nthId(n)});
    if (!tuple) return "none";
    std::string text = tuple->id.toString() + tuple->head.toString();
    for (const auto& commit : tuple->commits) text.append(commit.id.toString()).append(commit.bytes);
    if (tuple->next) text.append(tuple->next->id.toString()).append(tuple->next->bytes);
    return text;
}

}  // namespace

extern "C" {
ssize_t pread(int file, void* to, std::size_t size, off_t at) {
    if (fails()) return -1;
    return next<ssize_t (*)(int, void*, std::size_t, off_t)>("pread")(file, to, size, at);
}
ssize_t pread64(int file, void* to, std::size_t size, off64_t at) {
    if (fails()) return -1;
    return next<ssize_t (*)(int, void*, std::size_t, off64_t)>("pread64")(file, to, size, at);
}
}

int main() {
    const std::string path = std::filesystem::absolute("db").string();
    std::filesystem::remove_all(path);
    constexpr long reads = 30;
    constexpr int shapes = 3;
    std::vector<std::string> expected;
    {
        sg::RocksDBSaver saver(path);
        for (int shape = 0; shape < shapes; ++shape) {
            for (long nth = 0; nth < reads; ++nth) store(saver, nameOf(shape, nth), shape);
            expected.push_back(shown(saver, nameOf(shape, 0), rows));
        }
    }
    sg::RocksDBSaver saver(path);  // opening the database created the tables
    long refused = 0;
    for (int shape = 0; shape < shapes; ++shape) {
        for (long nth = 0; nth < reads; ++nth) {
            const std::string thread = nameOf(shape, nth);
            const std::string name = "shape " + std::to_string(shape) + ", read " + std::to_string(nth) + ": ";
            disk.first = nth;
            disk.calls = 0;
            disk.is_on = true;
            std::optional<std::string> found;
            try {
                found = shown(saver, thread, rows);
            } catch (const sg::SaverError& error) {
                ++refused;
                check(std::string(error.what()).find(path) != std::string::npos, name + "the error names the path");
            } catch (const std::exception& error) {
                check(false, name + "it is no SaverError: " + error.what());
            }
            disk.is_on = false;
            const auto& whole = expected[static_cast<std::size_t>(shape)];
            if (found) check(*found == whole, name + "what was read is not all");
            check(shown(saver, thread, rows) == whole, name + "the next call");
            check(shown(saver, thread, rows / 2) != "none", name + "an older checkpoint");
        }
    }
    check(disk.failed > shapes * reads / 4, "only " + std::to_string(disk.failed) + " reads failed");
    check(refused > shapes * reads / 8, "only " + std::to_string(refused) + " calls failed");
    if (failures == 0) std::cout << disk.failed << " reads failed, and with them " << refused << " calls" << std::endl;
    return failures == 0 ? 0 : 1;
}
