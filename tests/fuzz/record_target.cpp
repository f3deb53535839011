#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <optional>

#include <stategraph/codec_std.hpp>
#include <stategraph/stategraph.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/materialise.hpp"
#include "src/checkpoint/record.hpp"
#include "tests/fuzz/targets.hpp"
#include "tests/support/record_frame.hpp"

namespace fuzz {

namespace {

namespace sg = stategraph;
namespace cp = stategraph::checkpoint;

constexpr std::size_t records_max = 16;

// A state with every kind of channel, under names that the samples use.
struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    long n = 0;
    std::map<std::string, long> m = {};
    std::vector<long> topic = {};
    std::optional<double> once = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("foo", &State::foo), sg::channel("bar", &State::bar, sg::append),
                            sg::channel("n", &State::n, sg::sum), sg::channel("m", &State::m, sg::merge),
                            sg::channel("topic", &State::topic, sg::topic),
                            sg::channel("once", &State::once, sg::ephemeral));
    }
};
using App = sg::CompiledGraph<State>;

sg::Update<State> says(std::string text) { return {sg::add(&State::bar, std::move(text)), sg::add(&State::n, 1)}; }

App appOn(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    sg::StateGraph<State> graph;
    graph.addNode("a", [](const State&) { return says("a"); });
    graph.addNode("b", [](const State&) { return says("b"); });
    graph.addNode("late", [](const State&) { return says("late"); }, {.defer = true});
    graph.addNode("work", [](const std::string& payload) { return says(payload); });
    graph.addNode(
        "ask", [](const State&, sg::Runtime& runtime) { return says(sg::interrupt<std::string>(runtime, "what?")); });
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge({"a", "b"}, "late").addEdge("late", "ask");
    graph.addConditionalEdges("a",
                              [](const State&) {
                                  return std::vector<sg::Send>{{"work", "x"}, {"work", "y"}};
                              },
                              {"work"});
    return graph.compile({.checkpointer = saver});
}

sg::CheckpointId nthId(std::size_t n) {
    return {((1'700'000'000'000ULL) << 16U | 0x7000U) + n, 0x8000'0000'0000'0042ULL};
}

/// Calls a function that may refuse the bytes with an error of the library, and in no other way.
template <class F>
void survives(const char* what, F call) {
    try {
        call();
    } catch (const sg::Error&) {
    } catch (const std::exception& error) {
        found(std::string(what) + " throws " + error.what());
    }
}

std::vector<std::string> split(const std::uint8_t* data, std::size_t size) {
    std::vector<std::string> records;
    while (size > 2 && records.size() + 1 < records_max) {
        const std::size_t length = std::size_t{data[0]} << 8U | data[1];
        if (length >= size - 2) break;
        records.emplace_back(reinterpret_cast<const char*>(data) + 2, length);
        data += 2 + length;
        size -= 2 + length;
    }
    if (size > 2) records.emplace_back(reinterpret_cast<const char*>(data) + 2, size - 2);
    return records;
}

void readRecord(const sg::RowKey& key, std::string_view bytes) {
    survives("readHeader", [&] {
        const auto header = sg::readHeader(key, bytes);
        if (!header.metadata.empty()) sg::cborToJson(header.metadata);
    });
    survives("readLinks", [&] { sg::readLinks(key, bytes); });
    survives("readCommit", [&] {
        const auto commit = cp::readCommit(key, bytes);
        if (!commit.operations.empty()) cp::readOperations(commit.operations);
        if (commit.writes) sg::cborToJson(*commit.writes);
        for (const auto& send : commit.sends) sg::cborToJson(send.payload);
        // What can be read can be written again, and is then read as the same.
        std::string again;
        cp::writeCommit(commit, again);
        try {
            cp::readCommit(key, again);
        } catch (const sg::Error& error) {
            found(std::string("a commit that was read and written again cannot be read: ") + error.what());
        }
    });
    survives("readTask", [&] {
        const auto task = cp::readTask({key.thread_id, key.checkpoint_ns, key.id, "pull:a"}, bytes);
        for (const auto& interrupt : task.interrupts) sg::cborToJson(interrupt.value);
    });
    survives("hasOpenInterrupt", [&] { sg::hasOpenInterrupt(key, bytes); });
}

/// A record with its place in the log: a commit, or a pending write of the commit before it.
struct Placed {
    sg::CheckpointId id;
    bool is_task;
    std::string bytes;
};

// Replaces the checksum, which random bytes would practically never match.
std::vector<Placed> place(std::vector<std::string> records) {
    std::vector<Placed> log;
    std::size_t commits = 0;
    for (std::string& record : records) {
        const auto isTask = [&](sg::CheckpointId id) {
            frames::fixChecksum(id, record);
            try {
                sg::hasOpenInterrupt({"t", "", id, "pull:a"}, record);
                return true;
            } catch (const sg::Error&) {
                return false;
            }
        };
        const bool is_task = commits > 0 && isTask(nthId(commits - 1));
        if (!is_task) frames::fixChecksum(nthId(commits++), record);
        log.push_back({nthId(commits - 1), is_task, std::move(record)});
    }
    return log;
}

void readLog(const std::vector<Placed>& log) {
    sg::CheckpointTuple tuple;
    for (const Placed& each : log) {
        if (!each.is_task) tuple.commits.push_back({each.id, each.bytes});
    }
    tuple.id = tuple.head = tuple.commits.back().id;
    survives("fold", [&] {
        const auto folded = cp::fold({"t"}, std::move(tuple));
        for (const auto& channel : folded.channels) {
            survives("materialise", [&] { sg::cborToJson(cp::materialise(channel.pieces)); });
        }
    });
}

void readThread(const std::vector<Placed>& log) {
    const auto saver = std::make_shared<sg::MemorySaver>();
    survives("put", [&] {
        std::vector<sg::CommitRow> commits;
        std::vector<sg::WriteRow> writes;
        constexpr const char* paths[] = {"pull:a", "pull:b", "push:0000000000", "pull:ask", "pull:late"};
        for (const Placed& each : log) {
            if (each.is_task) {
                writes.push_back({each.id, paths[writes.size() % std::size(paths)], each.bytes});
            } else {
                const auto links = sg::readLinks({"t", "", each.id}, each.bytes);
                commits.push_back({each.id, links.parent, links.base, each.bytes});
            }
        }
        saver->put({.log = {"t"}, .expected_head = {}, .commits = commits, .writes = writes});
    });
    const App app = appOn(saver);
    const sg::Config at{.thread_id = "t"};
    const sg::RunConfig run{.thread_id = "t", .recursion_limit = 4, .max_concurrency = 1};
    survives("getState", [&] { (void)sg::toJson(app.getState(at, {.subgraphs = true})); });
    survives("history", [&] {
        for (const auto& snapshot : app.getStateHistory(at))
            (void)sg::toJson(static_cast<const sg::SnapshotData&>(snapshot));
    });
    survives("prune", [&] {
        saver->copyThread("t", "copy");
        saver->prune({.thread_id = "copy", .keep_last = 1});
    });
    survives("RESUME", [&] { app.invoke(sg::RESUME, run); });
    survives("an answer", [&] { app.invoke(sg::Command<State>{.resume = "yes"}, run); });
    survives("updateState", [&] { app.updateState(at, says("edit"), {.as_node = "a"}); });
    survives("input", [&] { app.invoke(says("in"), run); });
}

}  // namespace

int runRecord(const std::uint8_t* data, std::size_t size) {
    auto records = split(data, size);
    if (records.empty()) return 0;
    for (const std::string& record : records) readRecord({"t", "", nthId(0)}, record);
    const auto log = place(std::move(records));
    for (const Placed& each : log) readRecord({"t", "", each.id}, each.bytes);
    readLog(log);
    readThread(log);
    return 0;
}

std::vector<Sample> recordSamples() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = appOn(saver);
    const sg::RunConfig run{.thread_id = "t", .max_concurrency = 1, .metadata = {{"user", "somebody"}}};
    app.invoke({sg::set(&State::foo, "in"), sg::add(&State::bar, "in"), sg::merge(&State::m, {{"k", 1}}),
                sg::add(&State::topic, 7), sg::set(&State::once, 0.5)},
               run);
    app.invoke(sg::Command<State>{.update = says("beside")}, run);
    app.invoke(sg::Command<State>{.resume = "yes"}, run);
    app.updateState({.thread_id = "t"}, {sg::overwrite(&State::bar, {"edited"}), sg::clear(&State::foo)},
                    {.as_node = "a"});
    app.invoke(sg::RESUME, {.thread_id = "t", .recursion_limit = 9, .interrupt_before = {"late"}});

    std::vector<Sample> samples;
    std::string log;
    std::size_t in_log = 0;
    const auto framed = [](std::string_view record) {
        std::string bytes{static_cast<char>(record.size() >> 8U), static_cast<char>(record.size() & 0xFFU)};
        return bytes.append(record);
    };
    auto rows = saver->list({.thread_id = "t", .with_writes = true});
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
        const std::string number = std::to_string(samples.size());
        samples.push_back({"commit-" + number, framed(row->bytes)});
        if (++in_log <= records_max) log += framed(row->bytes);
        for (const auto& write : row->writes) {
            samples.push_back({"task-" + number + "-" + std::to_string(samples.size()), framed(write.bytes)});
            if (++in_log <= records_max) log += framed(write.bytes);
        }
    }
    samples.push_back({"log", log});
    return samples;
}

}  // namespace fuzz
