#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/graph_description.hpp>
#include <stategraph/inspect/command.hpp>
#include <stategraph/inspect/server.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/golden/rows.hpp"
#include "tests/inspect/command_run.hpp"
#include "tests/support/inspected.hpp"
#include "tests/support/temporary_folder.hpp"

// The command line with a running program as its store, by the address that the program's inspector prints.
namespace sg = stategraph;
using namespace inspected;
using sg::inspect::Exit;

namespace {

Graph failing(const char* node) {
    Graph graph;
    graph.addNode(node, [](const Order&) -> Update { throw std::runtime_error("no stock"); }).addEdge(sg::START, node);
    return graph;
}

/// A program with an inspector, and with threads in every condition.
struct Program {
    explicit Program(sg::inspect::ServerOptions options = {.write = true}) : server(saver, std::move(options)) {
        server.add("order", app);
        app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "asks"});
        app.invoke(Update{sg::set(&Order::topic, std::string("milk"))}, {.thread_id = "done"});
        app.invoke(sg::resume(std::string("yes")), {.thread_id = "done"});
        CHECK_THROWS_AS(failing("bad")
                            .compile({.checkpointer = saver})
                            .invoke(Update{sg::set(&Order::topic, std::string("x"))}, {.thread_id = "fails"}),
                        sg::NodeError);
    }

    CommandRun run(const std::vector<std::string>& arguments, std::istream* in = nullptr) const {
        return inspected::runCommand(arguments, {.store = server.url(), .in = in});
    }
    /// The same command on the program's own saver.
    CommandRun runInside(const std::vector<std::string>& arguments) const {
        return inspected::runCommand(
            arguments, {.open = [this](const std::string&, bool) { return saver; }, .store = server.url()});
    }

    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    App app = graph().compile({.checkpointer = saver});
    sg::inspect::Server server;
};

}  // namespace

TEST_CASE("every command that reads says of a running program what it says of the program's saver") {
    const Program program;
    const std::vector<std::vector<std::string>> commands = {{"ls", "--json"},
                                                            {"ls", "--status", "failed"},
                                                            {"ls", "--text", "Pay"},
                                                            {"log", "done", "--graph"},
                                                            {"show", "asks", "--json"},
                                                            {"show", "done", "--channel", "notes"},
                                                            {"diff", "done@~1"},
                                                            {"diff", "done", "asks"},
                                                            {"why", "asks"},
                                                            {"blame", "done", "notes"},
                                                            {"graph", "done"},
                                                            {"stats", "--json", "--threads"},
                                                            {"stats", "done", "--largest", "2"},
                                                            {"check"},
                                                            {"export", "done"},
                                                            {"prune", "--keep-last", "1", "--dry-run"},
                                                            {"show", "nothing"}};
    for (const auto& command : commands) {
        CAPTURE(command.front());
        const CommandRun said = program.run(command);
        const CommandRun inside = program.runInside(command);
        CHECK(said.exit == inside.exit);
        CHECK(said.error == inside.error);
        // Ages in seconds may differ.
        if (command.front() != "ls" || command.size() == 2) CHECK(said.out == inside.out);
        CHECK(said.out.size() + said.error.size() > 0);
    }
}

TEST_CASE("a question of a running program is answered from outside, and the program continues") {
    const Program program;
    const CommandRun answered = program.run({"answer", "asks", "\"yes\""});
    CHECK_MESSAGE(answered.exit == Exit::done, answered.error);
    const auto ended = program.app.invoke(sg::RESUME, {.thread_id = "asks"});
    CHECK(ended.values.topic == "yes");
    const CommandRun forked = program.run({"fork", "done@1", "--note", "again"});
    CHECK_MESSAGE(forked.exit == Exit::done, forked.error);
    CHECK(program.app.getState({.thread_id = "done"}).step == 2);
    CHECK(program.run({"ls", "--metadata", "note=again"}).has("done"));
}

TEST_CASE("a running program edits and runs its threads from outside, with its reducers and types") {
    const Program program;
    const CommandRun edited = program.run({"edit", "done", "topic=coffee", "notes=[\"by hand\"]", "--as", "ask"});
    CHECK_MESSAGE(edited.exit == Exit::done, edited.error);
    const auto state = program.app.getState({.thread_id = "done"});
    CHECK(state.values.topic == "coffee");
    CHECK(state.values.notes.back() == "by hand");
    CHECK(program.run({"edit", "done", "topic=7", "--as", "ask"}).exit == Exit::usage);
    CHECK(program.run({"edit", "done", "none=7"}).exit != Exit::done);
    CHECK(program.run({"edit", "done", "topic"}).error.find("CHANNEL=VALUE") != std::string::npos);

    const CommandRun asks = program.run({"run", "new", "--input", R"({"topic": "tea"})", "--json"});
    CHECK_MESSAGE(asks.exit == Exit::done, asks.error);
    CHECK(asks.has(R"("status":"interrupted")"));
    CHECK(program.run({"answer", "new", "\"yes\""}).exit == Exit::done);
    CHECK(program.run({"run", "new"}).out == "new  done\n");
    CHECK(program.app.getState({.thread_id = "new"}).values.topic == "yes");
    const CommandRun step = program.run({"run", "done@0", "--next"});
    CHECK_MESSAGE(step.exit == Exit::done, step.error);
    CHECK(step.has("breakpoint"));
    // Breakpoints before and after nodes; an option may be given several times.
    const CommandRun before = program.run({"run", "stops", "--input", R"({"topic": "tea"})", "--before", "last",
                                           "--before", "gather", "--after", "plan", "--json"});
    CHECK_MESSAGE(before.exit == Exit::done, before.error);
    CHECK(before.has(R"("status":"breakpoint")"));
    CHECK(program.app.getState({.thread_id = "stops"}).next.size() == 4);  // plan has run
    CHECK(program.run({"run", "stops", "--before", "last", "--before=gather"}).has("breakpoint"));
    CHECK(program.app.getState({.thread_id = "stops"}).next == std::vector<std::string>{"gather"});
    const CommandRun nobody = program.run({"run", "stops", "--before", "nobody"});
    CHECK(nobody.exit == Exit::usage);
    CHECK(nobody.error.find("'nobody'") != std::string::npos);
    CHECK(nobody.error.find("gather") != std::string::npos);
    CHECK(program.run({"run", "stops", "--after", "plan", "--next"}).exit == Exit::usage);
    CHECK(program.run({"run", "stops"}).has("interrupted"));
    const CommandRun failed = program.run({"run", "fails", "--name", "none"});
    CHECK(failed.exit == Exit::usage);
    CHECK(failed.error.find("order") != std::string::npos);

    const CommandRun stored = program.runInside({"run", "done"});
    CHECK(stored.exit == Exit::usage);
    CHECK(stored.error.find("needs the running program") != std::string::npos);
}

TEST_CASE("a thread is moved between running programs and files, and is pruned in a running program") {
    const Program program;
    const Program other({.write = true});
    other.saver->deleteThread("done");
    const CommandRun lines = program.run({"export", "done"});
    std::istringstream in(lines.out);
    const CommandRun imported = other.run({"import", "--as", "moved"}, &in);
    CHECK_MESSAGE(imported.exit == Exit::done, imported.error);
    CHECK(other.app.getState({.thread_id = "moved"}).values.notes ==
          program.app.getState({.thread_id = "done"}).values.notes);
    const CommandRun pruned = program.run({"prune", "done", "--keep-last", "1"});
    CHECK_MESSAGE(pruned.exit == Exit::done, pruned.error);
    CHECK(program.saver->list({.thread_id = "done"}).size() == 1);
}

TEST_CASE("a running program that only reads, or hides values, refuses and stays as it is") {
    const Program reads(sg::inspect::ServerOptions{});
    const std::string before = golden::rowsOf(*reads.saver);
    const CommandRun answered = reads.run({"answer", "asks", "\"yes\""});
    CHECK(answered.exit == Exit::failed);
    CHECK(answered.error.find("read-only") != std::string::npos);
    CHECK(golden::rowsOf(*reads.saver) == before);
    const Program hides({.write = true, .redact = {"topic"}});
    const CommandRun shown = hides.run({"show", "done"});
    CHECK(shown.exit == Exit::failed);
    CHECK(shown.error.find("hides values") != std::string::npos);
    const CommandRun wrong = inspected::runCommand({"ls", "--store", "http://10.0.0.1:80/#k=0123456789abcdef"}, {});
    CHECK(wrong.exit == Exit::usage);
    CHECK(wrong.error.find("ssh -L") != std::string::npos);
    CHECK(wrong.error.find("0123456789abcdef") == std::string::npos);
}

TEST_CASE("check --app has a running program check its own threads, and those of another store") {
    Program program;
    const std::string address = program.server.url();
    // The program has a graph without the node that failed.
    const CommandRun own = inspected::runCommand({"check", "--app", address}, {.store = "/does/not/exist"});
    CHECK(own.exit == Exit::no);
    CHECK(own.has("fails"));
    CHECK(own.has("bad"));
    CHECK(own.has("1 of 3 threads"));
    program.server.add("failing", failing("bad").compile({.checkpointer = program.saver}));
    CHECK(inspected::runCommand({"check", "--app", address}, {}).has("0 of 3 threads"));
    CHECK(inspected::runCommand({"check", "--app", address, "--name", "failing"}, {}).has("asks"));
    const CommandRun unknown = inspected::runCommand({"check", "--app", address, "--name", "none"}, {});
    CHECK(unknown.exit == Exit::usage);
    CHECK(unknown.error.find("failing, order") != std::string::npos);

    // Another program's store: its file is checked by this program, which has no thread of it.
    const TemporaryFolder folder;
    const std::string file = (folder / "threads.ndjson").string();
    {
        std::ofstream out(file, std::ios::binary);
        for (const char* thread : {"asks", "done", "fails"}) out << program.run({"export", thread}).out;
    }
    const Program later;
    const CommandRun checked = inspected::runCommand({"check", file, "--app", later.server.url(), "--json"}, {});
    CHECK(checked.exit == Exit::no);
    CHECK(checked.has(R"("thread_id":"fails")"));
    CHECK(checked.has(R"("node":"bad")"));
    CHECK_FALSE(checked.has("asks"));
    CHECK(later.saver->list({.thread_id = "x"}).empty());
    CHECK(inspected::runCommand({"check", "--app", address, "--graph", file}, {}).exit == Exit::usage);
    CHECK(inspected::runCommand({"check", "--name", "order"}, {.store = file}).exit == Exit::usage);
}

TEST_CASE("check --app finds what names of nodes do not say: channels of another type, also in a read-only program") {
    struct Other {
        std::vector<std::string> topic = {};
        std::vector<std::string> notes = {};
        int total = 0;
        static constexpr auto channels() {
            return sg::channels(sg::channel("topic", &Other::topic), sg::channel("notes", &Other::notes, sg::append),
                                sg::channel("total", &Other::total, sg::sum));
        }
    };
    const Program program;
    sg::StateGraph<Other> graph;
    const auto nothing = [](const Other&) -> sg::Update<Other> { return {}; };
    for (const char* node : {"plan", "left", "right", "price", "gather", "ask", "last", "bad"})
        graph.addNode(node, nothing).addEdge(sg::START, node);
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::inspect::Server server(saver, {.redact = {"topic"}});
    server.add("other", graph.compile({.checkpointer = saver}));
    const CommandRun checked =
        inspected::runCommand({"check", "--app", server.url(), "--store", program.server.url(), "--json"}, {});
    CHECK(checked.exit == Exit::no);
    CHECK(checked.has(R"("channel":"topic")"));
    CHECK(checked.has("another type"));
    CHECK(saver->list({}).empty());
}
