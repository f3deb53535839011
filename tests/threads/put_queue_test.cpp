#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/executor.hpp>

#include "src/threads/put_queue.hpp"
#include "tests/support/later_saver.hpp"

// The puts of one log: one at a time, in order.
namespace sg = stategraph;
using namespace std::chrono_literals;
using sg::engine::PutQueue;

namespace {

/// Notes its puts, and refuses some. Its memory is not looked at.
class Notes final : public sg::BaseCheckpointSaver {
public:
    struct Put {
        std::vector<std::string> rows;
        std::size_t commits = 0;
        sg::CheckpointId head = {};
        sg::Status status = {};
    };
    std::function<bool(const Put&)> refuses;
    std::function<bool(const Put&)> changed;  // whether another writer was first

    void put(const sg::PutRequest& request) override {
        if (under_way_.exchange(true)) overlapped = true;
        Put put;
        for (const sg::CommitRow& row : request.commits) put.rows.emplace_back(row.bytes);
        for (const sg::WriteRow& row : request.writes)
            put.rows.push_back(std::string(row.path) + "=" + std::string(row.bytes));
        put.commits = request.commits.size();
        put.head = request.expected_head;
        put.status = request.outlook.status;
        const bool is_refused = refuses && refuses(put);
        const bool has_changed = changed && changed(put);
        if (!is_refused && !has_changed) puts.push_back(put);
        under_way_ = false;
        if (is_refused) throw sg::SaverError("refused");
        if (has_changed) throw sg::ConcurrentUpdateError("changed");
    }
    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery&) override { return {}; }
    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery&) override { return {}; }
    void deleteThread(std::string_view) override {}
    void copyThread(std::string_view, std::string_view) override {}
    std::size_t prune(const sg::PruneRequest&) override { return 0; }

    std::vector<Put> puts;
    std::atomic<bool> overlapped{false};

private:
    std::atomic<bool> under_way_{false};
};

/// Adds requests to a queue.
struct Log {
    std::shared_ptr<Notes> notes = std::make_shared<Notes>();
    LaterSaver saver{notes};
    PutQueue queue{4};
    std::uint64_t commits = 0;

    void commit(const std::string& text, sg::ThreadOutlook outlook = {}) {
        const sg::CheckpointId before{commits, commits};
        ++commits;
        const sg::CommitRow row{.id = {commits, commits}, .base = {commits, commits}, .bytes = text};
        queue.add(saver,
                  {.log = {"t"}, .expected_head = before, .commits = {&row, 1}, .writes = {}, .outlook = outlook},
                  PutQueue::Kind::commit);
    }
    PutQueue::Added write(const std::string& path, const std::string& text,
                          PutQueue::Kind kind = PutQueue::Kind::writes) {
        const sg::WriteRow row{{1, 1}, path, text};
        return queue.add(saver, {.log = {"t"}, .expected_head = {}, .commits = {}, .writes = {&row, 1}}, kind);
    }
};

using Rows = std::vector<std::string>;

}  // namespace

TEST_CASE("pending writes that wait are one request, but for rows of one path, which keep their order") {
    Log log;
    log.saver.close();
    log.commit("a");
    log.write("p", "1");
    log.write("q", "2");
    log.write("p", "3");
    log.commit("b");
    log.write("p", "4");
    log.saver.open();
    log.queue.wait();
    REQUIRE(log.notes->puts.size() == 5);
    CHECK(log.notes->puts[0].rows == Rows{"a"});
    CHECK(log.notes->puts[1].rows == Rows{"p=1", "q=2"});
    CHECK(log.notes->puts[2].rows == Rows{"p=3"});
    CHECK(log.notes->puts[3].rows == Rows{"b"});
    CHECK(log.notes->puts[4].rows == Rows{"p=4"});
}

TEST_CASE("of pending writes that were joined, only those whose row has changed are refused, each with its own error") {
    for (const auto kind : {PutQueue::Kind::writes, PutQueue::Kind::effect}) {
        Log log;
        log.notes->changed = [](const Notes::Put& put) { return std::ranges::find(put.rows, "q=2") != put.rows.end(); };
        log.saver.close();
        log.write("first", "1");
        const auto p = log.write("p", "1", kind);
        const auto q = log.write("q", "2", kind);
        const auto r = log.write("r", "3", kind);
        log.saver.open();
        log.queue.wait(p);
        CHECK_THROWS_AS(log.queue.wait(q), sg::ConcurrentUpdateError);
        log.queue.wait(r);
        if (kind == PutQueue::Kind::writes) CHECK_THROWS_AS(log.queue.wait(), sg::ConcurrentUpdateError);
        log.queue.wait();
        CHECK(log.queue.hasFailed());
        REQUIRE(log.notes->puts.size() == 3);
        CHECK(log.notes->puts[1].rows == Rows{"p=1"});
        CHECK(log.notes->puts[2].rows == Rows{"r=3"});
    }
}

TEST_CASE("commits that come while a put is under way are one put, in order, with the last one's outlook") {
    Log log;
    log.saver.close();
    log.commit("a");
    log.commit("b");
    log.commit("c", {sg::Status::interrupted, {}});
    log.write("p", "1");
    log.commit("d", {sg::Status::sleeping, {}});
    log.commit("e", {sg::Status::done, {}});
    log.saver.open();
    log.queue.wait();
    REQUIRE(log.notes->puts.size() == 4);
    CHECK(log.notes->puts[0].rows == Rows{"a"});
    CHECK(log.notes->puts[1].rows == Rows{"b", "c"});
    CHECK((log.notes->puts[1].head == sg::CheckpointId{1, 1}));
    CHECK((log.notes->puts[1].status == sg::Status::interrupted));
    CHECK(log.notes->puts[2].rows == Rows{"p=1"});
    CHECK(log.notes->puts[3].rows == Rows{"d", "e"});
    CHECK((log.notes->puts[3].status == sg::Status::done));
}

TEST_CASE("a commit that does not follow those that wait, or would be synced, is a put of its own") {
    Log log;
    log.saver.close();
    log.commit("a");
    log.commit("b");
    ++log.commits;  // as if another writer's commit were in between
    log.commit("d");
    const sg::CheckpointId before{log.commits, log.commits};
    const sg::CommitRow row{.id = {9, 9}, .base = {9, 9}, .bytes = "e"};
    log.queue.add(log.saver, {.log = {"t"}, .expected_head = before, .commits = {&row, 1}, .writes = {}, .sync = true},
                  PutQueue::Kind::commit);
    log.saver.open();
    log.queue.wait();
    REQUIRE(log.notes->puts.size() == 4);
    CHECK(log.notes->puts[2].rows == Rows{"d"});
    CHECK(log.notes->puts[3].rows == Rows{"e"});
}

TEST_CASE("there is room while fewer commits than allowed, and nothing else, are under way or wait") {
    Log log;
    const auto has_room = [&log] { return log.queue.hasCome(PutQueue::Until::room); };
    CHECK(has_room());
    log.saver.close();
    log.commit("a");
    log.commit("b");
    log.commit("c");
    CHECK(has_room());
    log.commit("d");
    CHECK_FALSE(has_room());
    log.saver.open();
    log.queue.waitForRoom();
    log.queue.wait();
    log.saver.close();
    log.write("p", "1");
    CHECK_FALSE(has_room());
    log.saver.open();
    log.queue.waitForRoom();
    CHECK(log.notes->puts.back().rows == Rows{"p=1"});
    log.saver.close();
    log.commit("e");
    log.commit(std::string(std::size_t{1} << 20U, 'x'));  // what waits has enough bytes for one put
    CHECK_FALSE(has_room());
    log.saver.open();
    log.queue.wait();
    CHECK(log.notes->puts.back().commits == 1);
    CHECK(has_room());
}

TEST_CASE("a caller that waits for room learns of commits and pending writes that failed") {
    Log log;
    log.notes->refuses = [](const Notes::Put& put) { return put.rows == Rows{"p=1"} || put.rows == Rows{"b", "c"}; };
    log.write("p", "1");
    CHECK_THROWS_AS(log.queue.waitForRoom(), sg::SaverError);
    CHECK_NOTHROW(log.queue.waitForRoom());
    log.saver.close();
    log.commit("a");
    log.commit("b");
    log.commit("c");
    log.saver.open();
    CHECK_THROWS_AS(log.queue.wait(), sg::SaverError);
    CHECK_THROWS_AS(log.queue.waitForRoom(), sg::SaverError);
    CHECK(log.notes->puts.size() == 1);
}

TEST_CASE("after a commit that fails nothing more is stored, and its failure is thrown from then on") {
    Log log;
    log.notes->refuses = [](const Notes::Put& put) { return put.rows == Rows{"b"}; };
    log.saver.close();
    log.commit("a");
    log.commit("b");
    log.write("p", "1");
    const auto effect = log.write("e", "2", PutQueue::Kind::effect);
    log.commit("c");
    log.saver.open();
    CHECK_THROWS_AS(log.queue.wait(), sg::SaverError);
    CHECK_THROWS_AS(log.queue.wait(effect), sg::SaverError);
    CHECK_THROWS_AS(log.queue.waitForCommits(), sg::SaverError);
    CHECK_THROWS_AS(log.commit("d"), sg::SaverError);
    CHECK_THROWS_AS(log.queue.wait(), sg::SaverError);
    REQUIRE(log.notes->puts.size() == 1);
}

TEST_CASE("after pending writes that fail others are stored, and the failure is thrown once") {
    Log log;
    log.notes->refuses = [](const Notes::Put& put) { return put.rows == Rows{"p=1"}; };
    log.write("p", "1");
    log.queue.waitForCommits();
    CHECK_THROWS_AS(log.queue.wait(), sg::SaverError);
    CHECK(log.queue.hasFailed());
    log.write("q", "2");
    log.commit("a");
    CHECK_NOTHROW(log.queue.wait());
    CHECK(log.notes->puts.size() == 2);
}

TEST_CASE("an effect's failure is thrown to the thread that waits for it, and a hint's is ignored") {
    Log log;
    log.notes->refuses = [](const Notes::Put&) { return true; };
    const auto effect = log.write("p", "1", PutQueue::Kind::effect);
    CHECK_THROWS_AS(log.queue.wait(effect), sg::SaverError);
    log.write("p", "2", PutQueue::Kind::hint);
    CHECK_NOTHROW(log.queue.wait());
}

TEST_CASE("a coroutine that is suspended is woken once, and not after it was forgotten") {
    struct Suspended final : PutQueue::Suspended {
        std::atomic<int> woken{0};
        void wake() noexcept override { ++woken; }
    };
    Log log;
    Suspended idle;
    Suspended commits;
    Suspended forgotten;
    CHECK_FALSE(log.queue.suspend(idle, PutQueue::Until::idle));
    log.saver.close();
    log.commit("a");
    log.write("p", "1");
    CHECK(log.queue.suspend(idle, PutQueue::Until::idle));
    CHECK(log.queue.suspend(forgotten, PutQueue::Until::idle));
    CHECK(log.queue.suspend(commits, PutQueue::Until::commits));
    log.queue.forget(forgotten);
    log.saver.open();
    log.queue.wait();
    log.commit("b");
    log.queue.wait();
    CHECK(idle.woken == 1);
    CHECK(commits.woken == 1);
    CHECK(forgotten.woken == 0);
}

TEST_CASE("whatever several threads add, puts do not overlap, commits keep their order, and nothing is lost") {
    for (unsigned seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        Log log;
        std::vector<std::thread> tasks;
        std::atomic<int> commits{0};
        std::atomic<int> rows{0};
        for (unsigned each = 0; each < 3; ++each) {
            tasks.emplace_back([&, each] {
                std::mt19937 random(seed * 3 + each);
                for (int i = 0; i < 40; ++i) {
                    const std::string name = std::to_string(each) + "." + std::to_string(i);
                    const unsigned what = random() % 8;
                    if (what == 0 && each == 0) {
                        log.commit(std::to_string(++commits));
                    } else if (what == 1) {
                        log.queue.wait();
                    } else if (what == 2) {
                        log.queue.wait(log.write(name, "e", PutQueue::Kind::effect));
                        ++rows;
                    } else if (what == 3) {
                        log.queue.waitForCommits();
                    } else {
                        log.write(name, "w");
                        ++rows;
                    }
                }
            });
        }
        for (std::thread& task : tasks) task.join();
        log.queue.wait();
        CHECK_FALSE(log.notes->overlapped);
        int found = 0;
        int last = 0;
        for (const Notes::Put& put : log.notes->puts) {
            if (put.commits > 0) {
                CHECK(put.rows.size() == put.commits);
                for (const std::string& row : put.rows) CHECK(row == std::to_string(++last));
            } else {
                found += static_cast<int>(put.rows.size());
            }
        }
        CHECK(last == commits);
        CHECK(found == rows);
    }
}
