// A server that is killed, and the next one, which goes on with its runs.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/sqlite_saver.hpp>
#include <stategraph/sqlite_store.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/serve/client.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/helper_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;

sg::CompiledGraph<sg::JsonState> makeApp(std::shared_ptr<sg::BaseCheckpointSaver> saver,
                                         const std::shared_ptr<gates::Gate>& gate) {
    sg::JsonSchema schema;
    schema.channel("log", sg::JsonReducer::append()).channel("name");
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("first", [](const sg::JsonState& state) -> sg::Update<sg::JsonState> {
        return {sg::write("log", "first " + json::value_to<std::string>(state.at("name")))};
    });
    graph.addNode("second", [gate](const sg::JsonState& state) -> sg::Update<sg::JsonState> {
        (void)gate->wait();
        return {sg::write("log", "second " + json::value_to<std::string>(state.at("name")))};
    });
    graph.addEdge(sg::START, "first").addEdge("first", "second").addEdge("second", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

/// One process of the server.
class Process {
public:
    /// `ends`: whether its runs come to their end.
    Process(const TemporaryFolder& folder, const std::string& name, bool ends)
        : notes_(folder / name),
          helper_("serves a graph until it is killed", (folder / "threads").string(), notes_, ends ? 1 : 0) {
        helpers::awaitLines(notes_, 1);
        std::ifstream(notes_) >> port_;
    }
    void kill() { helper_.kill(); }
    json::value ask(std::string_view method, const std::string& target, std::string_view body = {}) const {
        client::Connection connection(port_);
        connection.request(method, target, body);
        return json::parse(connection.read().body);
    }
    std::string create(const std::string& thread, const std::string& name) const {
        return json::value_to<std::string>(
            ask("POST", "/threads/" + thread + "/runs",
                R"({"assistant_id": "app", "multitask_strategy": "enqueue", "input": {"name": ")" + name + R"("}})")
                .at("run_id"));
    }

private:
    std::filesystem::path notes_;
    helpers::Helper helper_;
    std::uint16_t port_ = 0;
};

}  // namespace

TEST_CASE("serves a graph until it is killed" * doctest::skip()) {
    const std::string database = helpers::given("STATEGRAPH_TEST_DATABASE");
    if (database.empty()) return;
    const auto gate = std::make_shared<gates::Gate>();
    if (helpers::given("STATEGRAPH_TEST_NUMBER") == "1") gate->open();
    sg::serve::Server server({.request_timeout = std::chrono::minutes(5), .write_timeout = std::chrono::minutes(5)});
    sg::langgraph::serve(server,
                         {{"app", sg::langgraph::graph(makeApp(std::make_shared<sg::SqliteSaver>(database), gate))}},
                         {.store = std::make_shared<sg::SqliteStore>(database + ".store")});
    std::ofstream(helpers::given("STATEGRAPH_TEST_NOTES")) << server.port() << std::endl;
    server.wait();
}

TEST_CASE("a run whose cancellation was acknowledged does not go on in the next process") {
    const TemporaryFolder folder;
    std::string thread;
    std::string cancelled;
    std::string next;
    {
        Process process(folder, "first", false);
        thread = json::value_to<std::string>(process.ask("POST", "/threads", "{}").at("thread_id"));
        cancelled = process.create(thread, "x");
        next = process.create(thread, "y");
        (void)process.ask("POST", "/threads/" + thread + "/runs/" + cancelled + "/cancel");
        process.kill();
    }
    const Process process(folder, "second", true);
    const json::value result = process.ask("GET", "/threads/" + thread + "/runs/" + next + "/join");
    const std::string log = json::serialize(result.at("log"));
    CHECK(log.find("second x") == std::string::npos);
    CHECK(log.ends_with(R"("first y","second y"])"));
    const json::value run = process.ask("GET", "/threads/" + thread + "/runs/" + cancelled);
    CHECK(run.at("status") == "interrupted");
}

TEST_CASE("runs that were acknowledged are done once each, whatever their server's process does") {
    const TemporaryFolder folder;
    std::string thread;
    std::string first;
    std::string last;
    {
        Process process(folder, "first", false);
        thread = json::value_to<std::string>(process.ask("POST", "/threads", "{}").at("thread_id"));
        first = process.create(thread, "x");
        (void)process.create(thread, "y");
        process.kill();
    }
    {
        Process process(folder, "second", false);
        CHECK(process.ask("GET", "/threads/" + thread).at("status") == "busy");
        last = process.create(thread, "z");
        process.kill();
    }
    const Process process(folder, "third", true);
    const json::value result = process.ask("GET", "/threads/" + thread + "/runs/" + last + "/join");
    CHECK(json::serialize(result.at("log")) == R"(["first x","second x","first y","second y","first z","second z"])");
    CHECK(process.ask("GET", "/threads/" + thread).at("status") == "idle");
    const json::value run = process.ask("GET", "/threads/" + thread + "/runs/" + first);
    CHECK(run.at("status") == "success");
}
