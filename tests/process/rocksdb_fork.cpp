// NOT WITH: sanitize=thread
// A child of a fork does not use what its parent has open: it reports an error, damages nothing, and waits for nothing.
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/rocksdb_store.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/sanitized.hpp"
#include "tests/support/until.hpp"

namespace sg = stategraph;
using namespace std::chrono_literals;

namespace {

struct State {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &State::n, sg::sum)); }
};

bool check(bool holds, const char* what) {
    if (!holds) std::printf("wrong: %s\n", what);
    return holds;
}

template <class F>
bool refuses(F call) {
    try {
        call();
    } catch (const sg::Error& error) {
        return error.message().find("fork") != std::string::npos;
    }
    return false;
}

const sg::Value item(std::map<std::string, int>{{"n", 1}});

/// Returns whether the child ended by itself with 0.
bool endsWell(pid_t child) {
    int status = 0;
    (void)::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

template <class F>
bool inChild(F act) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(300);
        const bool is_right = act();
        (void)std::fflush(stdout);
        ::_exit(is_right ? 0 : 1);
    }
    return endsWell(child);
}

/// A graph whose node forks a child, which returns from the node as its parent does.
sg::CompiledGraph<State> forking(const std::shared_ptr<sg::RocksDBSaver>& saver, pid_t& child) {
    sg::StateGraph<State> graph;
    graph.addNode("fork", [&child](const State&) -> sg::Update<State> {
        child = ::fork();
        if (child == 0) ::alarm(300);
        return {sg::add(&State::n, 1)};
    });
    graph.addNode("then", [](const State&) -> sg::Update<State> { return {sg::add(&State::n, 10)}; });
    graph.addEdge(sg::START, "fork").addEdge("fork", "then").addEdge("then", sg::END);
    return graph.compile({.checkpointer = saver});
}

// AddressSanitizer's allocator does not support a fork while another thread may use it.
const std::optional<sg::RetentionOptions> retention =
    STATEGRAPH_WITH_ASAN ? std::nullopt : std::optional(sg::RetentionOptions{.keep_last = 10, .every = 1h});

// Returns when no thread of the saver is at work any more: what it locks would stay locked in the child.
void awaitIdle(const sg::RocksDBSaver& saver) {
    if (retention) patience::until([&] { return saver.retentionReport().runs > 0; });
}

bool forkInNode() {
    pid_t child = -1;
    bool is_right = true;
    {
        const auto saver =
            std::make_shared<sg::RocksDBSaver>("threads", sg::RocksDBSaverOptions{.retention = retention});
        awaitIdle(*saver);
        const auto app = forking(saver, child);
        const bool was_refused = refuses([&] { (void)app.invoke({}, {.thread_id = "t"}); });
        if (child == 0) ::_exit(was_refused ? 0 : 1);
        is_right &= check(endsWell(child), "a child commits the run of its parent");
        is_right &= check(!was_refused, "the parent's run");
        is_right &= check(app.getState({.thread_id = "t"}).values.n == 11, "the parent's state");
    }
    const auto saver = std::make_shared<sg::RocksDBSaver>("threads");  // throws if a child has damaged the log
    return is_right & check(forking(saver, child).getState({.thread_id = "t"}).values.n == 11, "the state on the disk");
}

bool useParents(std::unique_ptr<sg::RocksDBSaver>& saver, std::unique_ptr<sg::RocksDBStore>& store,
                std::unique_ptr<sg::RocksDBSaver>& follower) {
    bool is_right = check(refuses([&] { saver->deleteThread("t"); }), "a child writes with its parent's saver");
    is_right &= check(refuses([&] { (void)saver->list({}); }), "a child reads with its parent's saver");
    is_right &= check(refuses([&] { (void)follower->list({}); }), "a child follows with its parent's saver");
    is_right &= check(refuses([&] { store->put({"a"}, "k", item); }), "a child writes with its parent's store");
    is_right &= check(refuses([&] { (void)store->get({"a"}, "k"); }), "a child reads with its parent's store");
    const auto open = [] { const sg::RocksDBSaver again("threads"); };
    is_right &= check(refuses(open), "a child opens what its parent has open");
    // These must close nothing, and must not wait for threads that the child lacks.
    saver.reset();
    store.reset();
    follower.reset();
    is_right &= check(refuses(open), "a child opens what its parent has open, after it destroyed the object");
    const auto own = std::make_shared<sg::RocksDBSaver>("of_child");
    return is_right & check(own->list({}).empty(), "a child cannot use a database of its own");
}

}  // namespace

int main() {
    bool is_right = forkInNode();
    {
        auto saver = std::make_unique<sg::RocksDBSaver>("threads", sg::RocksDBSaverOptions{.retention = retention});
        awaitIdle(*saver);
        auto store = std::make_unique<sg::RocksDBStore>("items");
        auto follower = std::make_unique<sg::RocksDBSaver>(
            "threads", sg::RocksDBSaverOptions{.read_only = true, .follow = true, .follow_every = 0ms});
        store->put({"a"}, "k", item);
        is_right &= check(inChild([&] { return useParents(saver, store, follower); }), "the child");
        is_right &= check(!saver->list({}).empty() && !follower->list({}).empty(), "the parent's savers");
        is_right &= check(store->get({"a"}, "k").has_value(), "the parent's store");
    }
    // Now no process has it open.
    is_right &= check(inChild([] { return !sg::RocksDBSaver("threads").list({}).empty(); }), "a child that opens it");
    return is_right ? 0 : 1;
}
