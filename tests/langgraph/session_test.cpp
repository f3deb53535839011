// SECONDS: 60
// Sessions with a server that is killed between any two requests. STATEGRAPH_SESSION_REQUESTS=500 makes them longer,
// STATEGRAPH_SESSION_SAVER=rocksdb has the server keep everything in RocksDB instead of SQLite, STATEGRAPH_TEST_SEED
// sets the seed.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/interrupt.hpp>
#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/sqlite_saver.hpp>
#include <stategraph/sqlite_store.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/langgraph/session.hpp"
#include "tests/support/helper_process.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"

#if STATEGRAPH_HAS_ROCKSDB
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/rocksdb_store.hpp>
#endif

namespace {

namespace json = boost::json;
namespace sg = stategraph;

/// A graph whose second node asks, sleeps until it is stopped, or works, as the first word of the name says.
sg::CompiledGraph<sg::JsonState> makeApp(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::JsonSchema schema;
    schema.channel("log", sg::JsonReducer::append()).channel("name");
    sg::StateGraph<sg::JsonState> graph(schema);
    const auto nameIn = [](const sg::JsonState& state) { return json::value_to<std::string>(state.at("name")); };
    graph.addNode("first", [nameIn](const sg::JsonState& state) -> sg::Update<sg::JsonState> {
        return {sg::write("log", "first " + nameIn(state))};
    });
    graph.addNode("work", [nameIn](const sg::JsonState& state, sg::Runtime& runtime) -> sg::Update<sg::JsonState> {
        const std::string name = nameIn(state);
        if (name.starts_with("sleep")) runtime.waitFor(std::chrono::hours(1));
        std::string answer;
        if (name.starts_with("ask")) answer = sg::interrupt<std::string>(runtime, name + "?");
        return {sg::write("log", "work " + name + answer)};
    });
    graph.addEdge(sg::START, "first").addEdge("first", "work").addEdge("work", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

/// The server's processes, one after the other.
class Processes {
public:
    std::uint16_t next() {
        helper_.reset();
        const std::filesystem::path notes = folder_ / ("process" + std::to_string(++count_));
        helper_.emplace("serves a session until it is killed", (folder_ / "threads").string(), notes);
        helpers::awaitLines(notes, 1);
        std::uint16_t port = 0;
        std::ifstream(notes) >> port;
        return port;
    }

private:
    TemporaryFolder folder_;
    std::optional<helpers::Helper> helper_;
    int count_ = 0;
};

std::vector<std::string> seenIn(const session::Plan& plan, std::size_t& kills) {
    Processes processes;
    session::Session session(plan, processes.next(), [&] { return processes.next(); });
    std::vector<std::string> lines = session.run();
    kills = session.kills();
    return lines;
}

}  // namespace

TEST_CASE("serves a session until it is killed" * doctest::skip()) {
    const std::string database = helpers::given("STATEGRAPH_TEST_DATABASE");
    if (database.empty()) return;
    std::shared_ptr<sg::BaseCheckpointSaver> saver;
    std::shared_ptr<sg::BaseStore> store;
#if STATEGRAPH_HAS_ROCKSDB
    if (helpers::given("STATEGRAPH_SESSION_SAVER") == "rocksdb") {
        saver = std::make_shared<sg::RocksDBSaver>(database);
        store = std::make_shared<sg::RocksDBStore>(database + ".store");
    }
#endif
    if (!saver) {
        saver = std::make_shared<sg::SqliteSaver>(database);
        store = std::make_shared<sg::SqliteStore>(database + ".store");
    }
    sg::serve::Server server({.request_timeout = std::chrono::minutes(5), .write_timeout = std::chrono::minutes(5)});
    sg::langgraph::serve(server, {{"app", sg::langgraph::graph(makeApp(saver))}}, {.store = store});
    std::ofstream(helpers::given("STATEGRAPH_TEST_NOTES")) << server.port() << std::endl;
    server.wait();
}

TEST_CASE("a client whose server is killed between its requests sees the same as one whose server is not") {
    const std::string given = helpers::given("STATEGRAPH_SESSION_REQUESTS");
    session::Plan plan{.seed = tests::seed(), .requests = given.empty() ? 60 : std::stoul(given), .kill_one_of = 8};
    CAPTURE(plan.seed);
    std::size_t kills = 0;
    const std::vector<std::string> killed = seenIn(plan, kills);
    CHECK(kills > 0);
    plan.kill_one_of = 0;
    const std::vector<std::string> undisturbed = seenIn(plan, kills);
    for (std::size_t i = 0; i < std::min(killed.size(), undisturbed.size()); ++i) {
        CAPTURE(i);
        REQUIRE(killed[i] == undisturbed[i]);
    }
    CHECK(killed.size() == undisturbed.size());
}
