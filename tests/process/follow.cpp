#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/temporary_folder.hpp"

// One process follows the database of another one that runs a thread and is killed with SIGKILL. The follower must then
// see all that the killed process had committed, and a third process that opens the database for writing must find the
// same.
namespace sg = stategraph;

namespace {

struct State {
    std::vector<int> numbers = {};
    static constexpr auto channels() { return sg::channels(sg::channel("numbers", &State::numbers, sg::append)); }
};
using App = sg::CompiledGraph<State>;

App appOn(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<State> graph;
    graph
        .addNode("count",
                 [](const State& state) -> sg::Update<State> {
                     return {sg::add(&State::numbers, static_cast<int>(state.numbers.size()))};
                 })
        .addEdge(sg::START, "count");
    return graph.compile({.checkpointer = std::move(saver)});
}

[[noreturn]] void write(const std::string& path) {
    const App app = appOn(std::make_shared<sg::RocksDBSaver>(path));
    for (;;) app.invoke(sg::Update<State>{sg::add(&State::numbers, -1)}, {.thread_id = "t"});
}

int fail(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
}

int follow(const std::string& path, pid_t writer) {
    using namespace std::chrono;
    const auto until = steady_clock::now() + minutes(20);
    std::unique_ptr<App> app;
    std::size_t seen = 0;
    std::size_t times_grown = 0;
    while (times_grown < 20) {
        if (steady_clock::now() > until) return fail("the follower saw nothing new for twenty minutes");
        try {
            if (!app) {
                app = std::make_unique<App>(appOn(std::make_shared<sg::RocksDBSaver>(
                    path,
                    sg::RocksDBSaverOptions{.read_only = true, .follow = true, .follow_every = milliseconds(0)})));
            }
            const std::size_t now = app->getState({.thread_id = "t"}).values.numbers.size();
            if (now < seen) return fail("the thread became shorter");
            times_grown += now > seen;
            seen = now;
        } catch (const sg::SaverError&) {
            app.reset();                                   // the writer has not created the database yet
            std::this_thread::sleep_for(milliseconds(5));  // sleeps: between two tries
        }
    }
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    const std::size_t last = app->getState({.thread_id = "t"}).values.numbers.size();
    const App opened = appOn(std::make_shared<sg::RocksDBSaver>(path));
    const std::size_t stored = opened.getState({.thread_id = "t"}).values.numbers.size();
    if (last != stored) {
        return fail("the follower saw " + std::to_string(last) + " numbers, and " + std::to_string(stored) +
                    " were stored");
    }
    return 0;
}

}  // namespace

int main() {
    const std::filesystem::path folder = TemporaryFolder::make();
    const std::string path = (folder / "db").string();
    const pid_t writer = ::fork();
    if (writer == 0) write(path);
    const int result = follow(path, writer);
    ::kill(writer, SIGKILL);
    std::filesystem::remove_all(folder);
    return result;
}
