#include <map>
#include <sstream>

#include <stategraph/codec_std.hpp>
#include <stategraph/export.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/fuzz/targets.hpp"

// Lines of an exported thread are imported as they are, or are refused and nothing is stored.
namespace fuzz {
namespace {

namespace sg = stategraph;

struct State {
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel("bar", &State::bar, sg::append)); }
};

sg::CompiledGraph<State> appOn(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    sg::StateGraph<State> graph;
    graph.addNode("a", [](const State&) -> sg::Update<State> { return {sg::add(&State::bar, "a")}; });
    graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> sg::Update<State> {
        return {sg::add(&State::bar, sg::interrupt<std::string>(runtime, "what?"))};
    });
    graph.addEdge(sg::START, "a").addEdge("a", "ask");
    return graph.compile({.checkpointer = saver});
}

using Rows = std::map<std::string, std::string>;
Rows rowsOf(sg::BaseCheckpointSaver& saver, const std::string& thread) {
    Rows rows;
    for (const auto& row : saver.list({.thread_id = thread, .with_writes = true})) {
        const std::string key = row.checkpoint_ns + " " + row.id.toString();
        rows[key] = row.bytes;
        for (const auto& write : row.writes) rows[key + " " + write.path] = write.bytes;
    }
    return rows;
}

template <class F>
void survives(const char* what, F call) {
    try {
        call();
    } catch (const sg::Error&) {
    } catch (const std::exception& error) {
        found(std::string(what) + " throws " + error.what());
    }
}

// An imported thread can be exported, and imported again with the same result. It can be read and run, or is refused.
void use(const std::shared_ptr<sg::MemorySaver>& saver, const sg::ThreadRows& rows) {
    const Rows stored = rowsOf(*saver, rows.thread_id);
    if (stored.size() != rows.commits + rows.writes) found("an import counts other rows than it stored");
    std::ostringstream out;
    sg::exportThread(*saver, rows.thread_id, out, {.sealed = true});
    sg::MemorySaver again;
    std::istringstream in(out.str());
    sg::importThread(again, in, {.sealed = true});
    if (rowsOf(again, rows.thread_id) != stored) found("what was exported is imported as something else");
    const auto app = appOn(saver);
    survives("getState", [&] { (void)app.getState({.thread_id = rows.thread_id}, {.subgraphs = true}); });
    survives("unfinishedThreads", [&] { (void)saver->unfinishedThreads(); });
    survives("RESUME", [&] {
        app.invoke(sg::RESUME, {.thread_id = rows.thread_id, .recursion_limit = 4, .max_concurrency = 1});
    });
}

}  // namespace

int runThreadLines(const std::uint8_t* data, std::size_t size) {
    const auto saver = std::make_shared<sg::MemorySaver>();
    std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
    sg::ThreadRows rows;
    try {
        rows = sg::importThread(*saver, in, {.sealed = true, .line_bytes_max = 4096, .bytes_max = 1U << 16U});
    } catch (const sg::Error&) {
        if (!saver->list({}).empty()) found("a refused import has stored something");
        return 0;
    } catch (const std::exception& error) {
        found(std::string("importThread throws ") + error.what());
    }
    use(saver, rows);
    return 0;
}

std::vector<Sample> threadLinesSamples() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = appOn(saver);
    app.invoke({sg::add(&State::bar, "in")}, {.thread_id = "t", .metadata = {{"user", "somebody"}}});
    std::ostringstream out;
    sg::exportThread(*saver, "t", out);
    const std::string whole = out.str();
    std::string unsummed = whole.substr(0, whole.find(",\"xxh3\"")) + "}\n";
    const std::size_t first = whole.find('\n') + 1;
    const std::size_t second = whole.find('\n', first) + 1;
    const std::string header = whole.substr(0, first);
    std::string coded = unsummed;
    coded.replace(coded.find("\"thread\":\"t\""), 12, "\"thread64\":\"dA==\"");
    std::string escaped = unsummed;
    escaped.replace(escaped.find("\"thread\":\"t\""), 12, "\"thread\":\"\\u0074\\ud83d\\ude80\\n\"");
    return {{"whole", whole},
            {"unsummed", unsummed},
            {"header", header},
            {"one", whole.substr(0, second) + "{\"end\":true,\"commits\":1,\"writes\":0}\n"},
            {"empty", header + "{\"end\":true,\"commits\":0,\"writes\":0}\n"},
            {"coded", coded},
            {"escaped", escaped}};
}

}  // namespace fuzz
