// SECONDS: 50
// Every write and sync of the log fails in turn, once or for a while, because the disk is full or broken. The process
// must survive, acknowledged data must exist, reading and deleting in memory must continue, and the first write after
// the cause is removed must succeed without a new object.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/rocksdb_store.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

enum class Call : int { write, sync };

struct Disk {
    std::atomic<bool> is_on = false;
    std::atomic<long> calls = 0;
    std::atomic<long> in_background = 0;  // failed calls on RocksDB's own threads
    std::atomic<long> first = 0;          // the number of the first call that fails
    std::atomic<long> times = 0;          // how many calls fail
    std::atomic<bool> fails_syncs_only = false;
    std::atomic<int> error = 0;

    void failFrom(long at, long many, int with, bool syncs_only) {
        calls = 0;
        in_background = 0;
        first = at;
        times = many;
        error = with;
        fails_syncs_only = syncs_only;
        is_on = true;
    }
    void heal() { is_on = false; }
};
Disk disk;

template <class F>
F next(const char* name) {
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

bool fails(int file, Call call) {
    if (!disk.is_on || file <= 2) return false;
    if (disk.fails_syncs_only && call != Call::sync) return false;
    const long n = disk.calls++;
    if (n < disk.first || n >= disk.first + disk.times) return false;
    char thread[16] = {};
    (void)pthread_getname_np(pthread_self(), thread, sizeof(thread));
    if (std::string_view(thread).starts_with("rocksdb")) ++disk.in_background;
    errno = disk.error;
    return true;
}

int failures = 0;

void check(bool is_so, const std::string& what) {
    if (is_so) return;
    ++failures;
    std::cerr << "FAILED: " << what << std::endl;
}

template <class F>
std::string errorOf(F call) {
    try {
        call();
    } catch (const sg::Error& error) {
        return error.message();
    }
    return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct State {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &State::n)); }
};

sg::CompiledGraph<State> makeGraph(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<State> graph;
    graph.addNode("add", [](const State& s) -> sg::Update<State> { return {sg::set(&State::n, s.n + 1)}; });
    graph.addEdge(sg::START, "add").addEdge("add", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

/// The interface of the two kinds: store something under a number, and find it again.
struct Subject {
    virtual ~Subject() = default;
    virtual void put(int n) = 0;
    virtual bool has(int n) = 0;
    virtual void remove(int n) = 0;
};

struct SaverSubject final : Subject {
    SaverSubject(const std::string& path, bool is_sync)
        : saver(std::make_shared<sg::RocksDBSaver>(path)),
          graph(makeGraph(saver)),
          durability(is_sync ? sg::Durability::sync : sg::Durability::async) {}
    static std::string name(int n) { return "t" + std::to_string(n); }
    void put(int n) override { (void)graph.invoke({}, {.thread_id = name(n), .durability = durability}); }
    bool has(int n) override { return graph.getState({.thread_id = name(n)}).values.n > 0; }
    void remove(int n) override { saver->deleteThread(name(n)); }
    std::shared_ptr<sg::RocksDBSaver> saver;
    sg::CompiledGraph<State> graph;
    sg::Durability durability;
};

struct StoreSubject final : Subject {
    StoreSubject(const std::string& path, bool is_sync) : store(path, {}, {.sync = is_sync}) {}
    void put(int n) override { store.put({"n"}, std::to_string(n), sg::Value(std::map<std::string, int>{{"a", n}})); }
    bool has(int n) override { return store.get({"n"}, std::to_string(n)).has_value(); }
    void remove(int n) override { store.remove({"n"}, std::to_string(n)); }
    sg::RocksDBStore store;
};

std::unique_ptr<Subject> make(int kind, const std::string& path, bool is_sync) {
    if (kind == 0) return std::make_unique<SaverSubject>(path, is_sync);
    return std::make_unique<StoreSubject>(path, is_sync);
}

struct Trial {
    int kind;
    bool is_sync;
    long first;
    long times;
    int error;
    bool syncs_only;
    int before;  // puts before the failure; with 0, nothing is in memory
};

void run(const Trial& t) {
    const std::string path = fs::absolute("db").string();
    fs::remove_all(path);
    const std::string name = "kind " + std::to_string(t.kind) + (t.is_sync ? " sync" : " async") +
                             (t.syncs_only ? " syncs" : " writes") + " from " + std::to_string(t.first) + ", " +
                             std::to_string(t.times) + " times " + std::strerror(t.error) + ", after " +
                             std::to_string(t.before) + ": ";
    std::vector<int> stored;
    int n = 0;
    const auto put = [&](Subject& subject) {
        const std::string error = errorOf([&] { subject.put(n); });
        if (error.empty()) stored.push_back(n);
        ++n;
        return error;
    };
    {
        make(t.kind, path, t.is_sync);  // so that the next opening finds nothing in the log
        const auto subject = make(t.kind, path, t.is_sync);
        for (int i = 0; i < t.before; ++i) check(put(*subject).empty(), name + "a put on a healthy disk");
        disk.failFrom(t.first, t.times, t.error, t.syncs_only);
        int failed = 0;
        for (int i = 0; i < 6; ++i) {
            const std::string error = put(*subject);
            if (error.empty()) continue;
            ++failed;
            check(has(error, path), name + "the error names the path: " + error);
            check(has(error, "resumes by itself"), name + "the error says that it resumes: " + error);
            const bool still_fails = has(error, "writing still does");
            check(!still_fails || has(error, "KiB must have room"), name + "the error says how much: " + error);
            for (const int each : stored) check(subject->has(each), name + "reading while writes fail");
        }
        const bool took_all = disk.in_background == t.times;  // RocksDB's own threads met all of the failures
        if (t.first == 0 && (t.is_sync || !t.syncs_only)) check(failed > 0 || took_all, name + "nothing failed");
        disk.heal();
        const std::string error = put(*subject);
        check(error.empty(), name + "the first put after the obstacle is gone: " + error);
        if (!stored.empty()) {
            check(errorOf([&] { subject->remove(stored.back()); }).empty(), name + "removing");
            stored.pop_back();
        }
        check(put(*subject).empty(), name + "the second put after the obstacle is gone");
    }
    const auto subject = make(t.kind, path, t.is_sync);
    for (const int each : stored) check(subject->has(each), name + "an acknowledged put is gone");
    check(put(*subject).empty(), name + "a put after it was opened again");
}

/// Reading an item with a time to live also writes, to prolong it. If that write fails, the read must succeed all the
/// same.
void readWithRefresh() {
    const std::string path = fs::absolute("db").string();
    fs::remove_all(path);
    sg::RocksDBStore store(path);
    const sg::Value value(std::map<std::string, int>{{"a", 1}});
    store.put({"n"}, "some time", value, {.ttl = 1'000'000ms});
    store.put({"n"}, "for ever", value);
    ::usleep(5'000);  // sleeps: lets enough time pass that there is something to prolong
    disk.failFrom(0, 1'000'000, ENOSPC, false);
    for (int i = 0; i < 3; ++i) {
        check(errorOf([&] { check(store.get({"n"}, "some time").has_value(), "an item with a time to live"); }).empty(),
              "get on a full disk");
        check(errorOf([&] { check(store.search({.limit = 10}).size() == 2, "both items"); }).empty(),
              "search on a full disk");
    }
    disk.heal();
    check(errorOf([&] { store.put({"n"}, "another", value); }).empty(), "a put after reads on a full disk");
}

/// A thread whose write failed is in lists of open threads once, with what is stored, and a copy that failed is not.
void listAfterFailures() {
    const std::string path = fs::absolute("db").string();
    fs::remove_all(path);
    const auto saver = std::make_shared<sg::RocksDBSaver>(path);
    sg::StateGraph<State> graph;
    graph.addNode("ask", [](const State& s, sg::Runtime& rt) -> sg::Update<State> {
        if (s.n == 0) return {sg::set(&State::n, sg::interrupt<int>(rt, "?"))};
        throw std::runtime_error("it breaks");
    });
    graph.addEdge(sg::START, "ask");
    graph.addConditionalEdges("ask", [](const State&) { return std::string("ask"); });
    const auto app = graph.compile({.checkpointer = saver});
    (void)app.invoke({}, {.thread_id = "t"});
    const auto lists = [&](const std::string& what) {
        const auto open = saver->openThreads({});
        check(open && open->size() == 1, what + ": the thread is in the index once");
        check(saver->unfinishedThreads().size() == 1, what + ": the thread is listed once");
        check(saver->countThreads(10)->open() == 1, what + ": the thread is counted once");
    };
    disk.failFrom(0, 1'000'000, ENOSPC, false);
    for (int i = 0; i < 3; ++i) {
        check(!errorOf([&] { (void)app.invoke(sg::resume(1), {.thread_id = "t"}); }).empty(), "a run on a full disk");
        lists("on a full disk");
        check(!errorOf([&] { saver->copyThread("t", "copy"); }).empty(), "a copy on a full disk");
        lists("after a copy that failed");
    }
    disk.heal();
    lists("on a disk with space");
    const std::string error = errorOf([&] { (void)app.invoke(sg::resume(1), {.thread_id = "t"}); });
    check(has(error, "it breaks"), "the answer is taken when there is space: " + error);
    lists("after another status");
}

}  // namespace

extern "C" {
ssize_t write(int file, const void* bytes, size_t size) {
    static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
    if (fails(file, Call::write)) {
        // A full disk still takes a part of a write.
        if (disk.error == ENOSPC && size > 20) (void)real(file, bytes, size / 3);
        errno = disk.error;
        return -1;
    }
    return real(file, bytes, size);
}
// The machine does not crash in this test, so nothing needs to reach the disk.
int fsync(int file) { return fails(file, Call::sync) ? -1 : 0; }
int fdatasync(int file) { return fails(file, Call::sync) ? -1 : 0; }
}

int main() {
    readWithRefresh();
    listAfterFailures();
    for (const int kind : {0, 1}) {
        for (const int error : {ENOSPC, EIO}) {
            for (const int before : {0, 2}) {
                for (const long times : {1L, 2L, 3L, 5L, 1'000L}) run({kind, false, 0, times, error, false, before});
                for (const long first : {0L, 1L, 3L}) run({kind, true, first, 1, error, false, before});
                run({kind, true, 0, 1, error, true, before});
                run({kind, true, 1, 2, error, true, before});
                run({kind, true, 0, 1'000, error, true, before});
            }
        }
    }
    std::cout << (failures == 0 ? "fine" : "failed") << std::endl;
    return failures == 0 ? 0 : 1;
}
