#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "src/checkpoint/record_frame.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// A store with healthy threads and one that cannot be read.
namespace damage {

namespace sg = stategraph;
namespace kit = stategraph::testing;

/// START -> a -> b
inline graphs::App twoNodes(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    graphs::Graph graph;
    graph.addNode("a", [](const graphs::State&) -> graphs::Update { return graphs::bar("a"); });
    graph.addNode("b", [](const graphs::State&) -> graphs::Update { return graphs::bar("b"); });
    graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", sg::END);
    return graph.compile({.checkpointer = saver});
}

/// These come before and after the damaged thread in every order of listings: done threads with four runs, and threads
/// that were left in front of `b`.
inline const std::vector<std::string>& doneThreads() {
    static const std::vector<std::string> names{"a1", "z1"};
    return names;
}
inline const std::vector<std::string>& leftThreads() {
    static const std::vector<std::string> names{"a0", "z2"};
    return names;
}
constexpr const char* bad = "bad";  // longer names come after shorter ones

inline void fill(const graphs::App& app) {
    for (const auto& name : doneThreads()) {
        for (int i = 0; i < 4; ++i) app.invoke(graphs::bar("in"), {.thread_id = name});
    }
    const auto leave = [&app](const std::string& name) {
        app.updateState({.thread_id = name}, graphs::bar("x"), {.as_node = "a"});
        (void)app.stream(sg::RESUME, {.thread_id = name},
                         {.modes = {sg::StreamMode::values}});  // a run that is left before its first superstep
    };
    for (const auto& name : leftThreads()) leave(name);
    leave("long name");
}

struct Kind {
    const char* name;
    /// Puts a thread `bad` past everything that could refuse it.
    std::function<void(sg::BaseCheckpointSaver&)> put;
    const char* why;
};

inline const std::vector<Kind>& kinds() {
    static const auto flipped = [](kit::TestCommit commit) {
        commit.bytes.back() ^= 1;
        return commit;
    };
    static const std::vector<Kind> all{
        {"one bit of the newest commit",
         [](sg::BaseCheckpointSaver& saver) { kit::putOne(saver, {bad}, {}, flipped(kit::makeCommit(1, 0))); },
         "its checksum does not match"},
        {"a later format",
         [](sg::BaseCheckpointSaver& saver) {
             kit::TestCommit commit = kit::makeCommit(1, 0);
             commit.bytes[0] = '\x07';
             kit::putOne(saver, {bad}, {}, commit);
         },
         "its format 7 is newer"},
        {"no record at all",
         [](sg::BaseCheckpointSaver& saver) {
             kit::TestCommit commit = kit::makeCommit(1, 0);
             commit.bytes = "x";
             kit::putOne(saver, {bad}, {}, commit);
         },
         "it is too short"},
        {"a pending write",
         [](sg::BaseCheckpointSaver& saver) {
             kit::putOne(saver, {bad}, {}, kit::makeCommit(1, 0));
             std::string task = kit::makeTask(kit::nthId(1), true);
             task.back() ^= 1;
             kit::putWrite(saver, {bad}, kit::nthId(1), kit::nthId(1), "pull:a", task);
         },
         "its checksum does not match"},
        {"a value that is no value",
         [](sg::BaseCheckpointSaver& saver) {
             std::string bytes;
             const std::size_t start = sg::checkpoint::openFrame(bytes, 1);
             bytes += "\x82\xa0\xa1\x61x\x00";
             sg::checkpoint::closeFrame(kit::nthId(1), bytes, start);
             const sg::CommitRow row{kit::nthId(1), {}, kit::nthId(1), bytes};
             saver.put({.log = {bad}, .expected_head = {}, .commits = {&row, 1}, .writes = {}});
         },
         nullptr},
    };
    return all;
}

/// Checks that every call over all threads skips `bad`, reports its id and the reason, and leaves it as it is. `reads`
/// says that the bytes are checked as they are stored.
inline void checkPassedOver(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, sg::BaseCheckpointSaver& stored,
                            const char* why) {
    const auto app = twoNodes(saver);
    const auto rowsOf = [&] { return stored.list({.thread_id = bad, .with_writes = true}); };
    const auto before = rowsOf();
    const auto says = [&](const std::string& text) {
        CAPTURE(text);
        CHECK(text.find("'bad'") != std::string::npos);
        CHECK(text.find(why) != std::string::npos);
    };

    std::vector<std::string> left;
    int damaged = 0;
    for (const auto& thread : saver->unfinishedThreads()) {
        if (thread.reason == sg::Status::damaged) {
            ++damaged;
            CHECK(thread.thread_id == bad);
            says(thread.error);
        } else {
            CHECK((thread.reason == sg::Status::in_flight));
            left.push_back(thread.thread_id);
        }
    }
    CHECK(damaged == 1);
    std::sort(left.begin(), left.end());  // each saver lists threads in an order of its own
    CHECK(left == std::vector<std::string>{"a0", "long name", "z2"});
    CHECK(saver->unfinishedThreads({.reason = sg::Status::in_flight}).size() == 3);
    CHECK(saver->unfinishedThreads({.reason = sg::Status::damaged}).size() == 1);

    const auto stats = saver->stats();
    CHECK(stats.threads == 5);
    REQUIRE(stats.damaged.size() == 1);
    CHECK(stats.damaged[0].thread_id == bad);
    says(stats.damaged[0].why);
    CHECK(sg::toJson(stats).find("\"damaged\":[{") != std::string::npos);
    CHECK_THROWS_AS((void)saver->stats({.thread_id = bad}), sg::CorruptCheckpointError);

    CHECK(saver->list({.checkpoint_ns = "", .heads = true}).size() == 6);

    std::vector<sg::DamagedThread> passed;
    CHECK(saver->prune({.keep_last = 2, .damaged = &passed}) > 0);
    REQUIRE(passed.size() == 1);
    CHECK(passed[0].thread_id == bad);
    says(passed[0].why);
    for (const auto& name : doneThreads()) CHECK(saver->list({.thread_id = name}).size() == 2);
    CHECK_NOTHROW(saver->prune({.keep_last = 1}));
    CHECK_NOTHROW(
        saver->prune({.threads_unused_since = std::chrono::system_clock::time_point(std::chrono::milliseconds(1))}));
    CHECK_THROWS_AS(saver->prune({.thread_id = bad, .keep_last = 1}), sg::CorruptCheckpointError);

    const auto report = app.recover();
    CHECK(report.size() == 4);
    for (const auto& thread : report) {
        CAPTURE(thread.thread_id);
        if (thread.thread_id == bad) {
            CHECK_FALSE(thread.status);
            REQUIRE(thread.error);
            CHECK_THROWS_AS(std::rethrow_exception(thread.error), sg::CorruptCheckpointError);
            says(thread.why);
        } else {
            CHECK((thread.status == sg::Status::done));
        }
    }

    const auto after = rowsOf();
    REQUIRE(after.size() == before.size());
    for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i].bytes == before[i].bytes);
    saver->deleteThread(bad);
    CHECK(saver->unfinishedThreads().empty());
    CHECK(saver->stats().damaged.empty());
}

}  // namespace damage
