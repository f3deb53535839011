// A saver of one's own on LMDB, the whole kit of its contract, and a graph that is killed and continues in the next
// process.
//
//     START ──► fetch ──► parse ──► report ──► END
//                           ▲
//                           └── here the first process is killed (SIGKILL)
//
// lmdb_database.hpp is LMDB in C++, lmdb_saver.cpp the saver. docs/savers.md says what its methods must do.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/stategraph.hpp>
#include <stategraph/testing/saver_contract.hpp>

#include "lmdb_saver.hpp"

namespace sg = stategraph;
using namespace sg::testing;

namespace {

// The kit: each case begins with an empty folder, and `reopen` finds in it what the saver of `make` has stored.
// [begin factory]
struct LmdbFactory {
    std::unique_ptr<sg::BaseCheckpointSaver> make() {
        std::filesystem::remove_all("contract");
        return reopen();
    }
    std::unique_ptr<sg::BaseCheckpointSaver> reopen() { return openLmdb("contract"); }
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(LmdbFactory);
// [end factory]

namespace {

// Begins a process that does `work` and opens folders by itself.
pid_t begin(const std::function<void()>& work) {
    std::cout << std::flush;
    const pid_t child = fork();
    if (child != 0) return child;
    work();
    std::_Exit(0);
}
int waitFor(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

}  // namespace

// What the kit does not know: how this storage is shared, and how it fails.
TEST_CASE("processes that race for the head of a log lose no commit and fork nothing") {
    constexpr unsigned processes = 3;
    constexpr unsigned commits_each = 30;
    std::filesystem::remove_all("race");
    const auto append = [] {
        // The process ends with it open: newer LMDB's last closer destroys locks that another one may be about to take.
        auto* const saver = openLmdb("race").release();
        for (unsigned done = 0; done < commits_each;) {
            const auto head = static_cast<unsigned>(listIds(*saver, {"t"}).size());
            try {
                putOne(*saver, {"t"}, head ? nthId(head) : sg::CheckpointId(), makeCommit(head + 1, head));
                ++done;
            } catch (const sg::ConcurrentUpdateError&) {  // another process was first
            }
        }
    };
    std::vector<pid_t> children;
    for (unsigned i = 0; i < processes; ++i) children.push_back(begin(append));
    for (const pid_t child : children) CHECK(waitFor(child) == 0);
    const auto saver = openLmdb("race");
    CHECK(listIds(*saver, {"t"}).size() == processes * commits_each);
    CHECK(headOf(*saver, {"t"}) == nthId(processes * commits_each));
}

TEST_CASE("a full database refuses what does not fit, keeps what it has, and takes more after a deletion") {
    std::filesystem::remove_all("full");
    const auto saver = openLmdb("full", std::size_t{1} << 20U);
    putLine(*saver, {"kept"}, 2);
    const std::string large(std::size_t{1} << 18U, 'x');
    unsigned stored = 0;
    CHECK_THROWS_AS(
        while (stored < 100) {
            putOne(*saver, {"t"}, stored ? nthId(stored) : sg::CheckpointId(),
                   makeCommit(stored + 1, stored, 0, large));
            ++stored;
        },
        sg::SaverError);
    CHECK(listIds(*saver, {"t"}).size() == stored);
    saver->deleteThread("t");
    CHECK_NOTHROW(putOne(*saver, {"kept"}, nthId(2), makeCommit(3, 2)));
    // LMDB uses the pages that a transaction has freed from the second one after it.
    CHECK_NOTHROW(putOne(*saver, {"t"}, {}, makeCommit(1, 0, 0, large)));
    CHECK(listIds(*saver, {"kept"}) == nthIds({3, 2, 1}));
}

TEST_CASE("a process has a folder open once, and a file of something else is refused") {
    std::filesystem::remove_all("once");
    {
        const auto saver = openLmdb("once");
        CHECK_THROWS_AS(openLmdb("once/../once"), sg::SaverError);
    }
    CHECK_NOTHROW(openLmdb("once"));
    std::filesystem::resize_file("once/data.mdb", 100);
    CHECK_THROWS_AS(openLmdb("once"), sg::Error);
}

namespace {

struct State {
    std::vector<std::string> done = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::done>(sg::append)); }
};

sg::CompiledGraph<State> makeApp(bool is_doomed) {
    const auto step = [](std::string name, bool is_killed) {
        return [name, is_killed](const State&) -> sg::Update<State> {
            if (is_killed) kill(getpid(), SIGKILL);
            return {sg::add<&State::done>(name)};
        };
    };
    sg::StateGraph<State> graph;
    graph.addNode("fetch", step("fetch", false))
        .addNode("parse", step("parse", is_doomed))
        .addNode("report", step("report", false))
        .addEdge(sg::START, "fetch")
        .addEdge("fetch", "parse")
        .addEdge("parse", "report")
        .addEdge("report", sg::END);
    return graph.compile({.checkpointer = std::shared_ptr(openLmdb("threads"))});
}

}  // namespace

int main(int argc, char** argv) {
    doctest::Context context(argc, argv);
    context.setOption("minimal", true);  // only what fails is printed
    const int failed = context.run();
    std::cout << "The contract: " << (failed == 0 ? "kept" : "broken") << ".\n";
    if (failed != 0 || context.shouldExit()) return failed;

    std::filesystem::remove_all("threads");
    const int status =
        waitFor(begin([] { makeApp(true).invoke({}, {.thread_id = "1", .durability = sg::Durability::sync}); }));
    std::cout << "A process ran the graph. It was "
              << (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? "killed" : "not killed") << ".\n";
    const auto app = makeApp(false);
    const auto found = app.getState({.thread_id = "1"});
    std::cout << "This one finds " << found.valuesAsJson() << ", next " << found.next.at(0) << ".\n";
    const auto result = app.invoke(sg::RESUME, {.thread_id = "1"});
    std::cout << "RESUME: " << toString(result.status) << ", " << sg::Value(result.values) << "\n";
}
