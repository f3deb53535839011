#include <stategraph/stats.hpp>

#include <algorithm>
#include <chrono>
#include <sstream>

#include <doctest/doctest.h>

#include <stategraph/json.hpp>

#include <stategraph/testing/saver_contract/support.hpp>

#include "src/checkpoint/record.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

namespace stategraph::testing {
namespace {

using checkpoint::CommitFields;

std::string textItem(std::string_view text) {
    std::string cbor;
    Encoder(cbor).text(text);
    return cbor;
}

std::string operationsItem(std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
    std::string cbor;
    Encoder encoder(cbor);
    encoder.map(values.size());
    for (const auto& [channel, text] : values) {
        checkpoint::writeLoggedOp(encoder, channel, checkpoint::LogOp::set);
        encoder.text(text);
    }
    return cbor;
}

std::string writesItem(std::string_view channel, std::string_view text) {
    std::string cbor;
    Encoder encoder(cbor);
    encoder.array(1);
    checkpoint::writeLoggedWrite(encoder, channel, checkpoint::WriteKind::set);
    encoder.text(text);
    return cbor;
}

std::string recordOf(const CommitFields& fields) {
    std::string bytes;
    checkpoint::writeCommit(fields, bytes);
    return bytes;
}

std::uint64_t bytesOf(const StorageBytes& stats, std::string_view channel) {
    for (const auto& entry : stats.channels) {
        if (entry.channel == channel) return entry.bytes;
    }
    return 0;
}

void checkSame(const StorageBytes& a, const StorageBytes& b) {
    CHECK(a.commits == b.commits);
    CHECK(a.pending_writes == b.pending_writes);
    CHECK(a.schedule_bytes == b.schedule_bytes);
    CHECK(a.metadata_bytes == b.metadata_bytes);
    CHECK(a.input_bytes == b.input_bytes);
    CHECK(a.operation_bytes == b.operation_bytes);
    CHECK(a.snapshot_bytes == b.snapshot_bytes);
    CHECK(a.task_write_bytes == b.task_write_bytes);
    CHECK(a.pending_write_bytes == b.pending_write_bytes);
    CHECK(a.channels.size() == b.channels.size());
    for (const auto& channel : a.channels) CHECK(bytesOf(b, channel.channel) == channel.bytes);
}

/// Fails if a caller requests, or gets, more rows at once than promised.
class Pages final : public BaseCheckpointSaver {
public:
    explicit Pages(BaseCheckpointSaver& inner) : inner_(inner) {}
    std::size_t calls = 0;

    void put(const PutRequest& request) override { inner_.put(request); }
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override { return inner_.getTuple(query); }
    std::vector<ListedCheckpoint> list(const ListQuery& query) override {
        ++calls;
        auto rows = inner_.list(query);
        const bool is_of_one_threads_heads = query.heads && query.thread_id;
        if (!is_of_one_threads_heads) {
            REQUIRE(query.limit);
            CHECK(*query.limit <= 1000);
            CHECK(rows.size() <= 1000);
        }
        return rows;
    }
    void deleteThread(std::string_view thread_id) override { inner_.deleteThread(thread_id); }
    void copyThread(std::string_view from, std::string_view to) override { inner_.copyThread(from, to); }
    std::size_t prune(const PruneRequest& request) override { return inner_.prune(request); }

private:
    BaseCheckpointSaver& inner_;
};

}  // namespace

TEST_CASE("every byte of a record is of one kind, and of a channel what names it") {
    const std::string snapshot = operationsItem({{"foo", std::string(100, 'x')}, {"messages", std::string(900, 'x')}});
    const std::string operations = operationsItem({{"foo", std::string(50, 'x')}});
    const std::string input = writesItem("foo", "some input");
    const std::string writes = writesItem("topic", std::string(30, 'x'));
    std::string metadata;
    Encoder encoder(metadata);
    encoder.map(1);
    encoder.text("who");
    encoder.text("me");
    const std::string first = recordOf({.id = nthId(1),
                                        .base = nthId(1),
                                        .next = {"node"},
                                        .metadata = metadata,
                                        .input = input,
                                        .operations = snapshot});
    const std::string second =
        recordOf({.id = nthId(2), .parent = nthId(1), .base = nthId(1), .writes = writes, .operations = operations});
    std::string task;
    checkpoint::writeTask(nthId(2), {.node = "node", .writes = writes}, task);

    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        const CommitRow rows[] = {{nthId(1), {}, nthId(1), first}, {nthId(2), nthId(1), nthId(1), second}};
        const WriteRow write{nthId(2), "path", task};
        saver->put({.log = {"t"}, .expected_head = {}, .commits = rows, .writes = {&write, 1}});
        const SaverStats stats = saver->stats();
        CHECK(stats.threads == 1);
        REQUIRE(stats.per_thread.size() == 1);
        const ThreadStats& thread = stats.per_thread[0];
        CHECK(thread.thread_id == "t");
        CHECK(thread.namespaces == 1);
        CHECK(thread.newest_at == nthId(2).time());
        checkSame(thread, stats.total);

        const StorageBytes& total = stats.total;
        CHECK(total.commits == 2);
        CHECK(total.pending_writes == 1);
        CHECK(total.snapshot_bytes == snapshot.size());
        CHECK(total.operation_bytes == operations.size());
        CHECK(total.input_bytes == input.size());
        CHECK(total.task_write_bytes == writes.size());
        CHECK(total.metadata_bytes == metadata.size());
        CHECK(total.pending_write_bytes == task.size());
        CHECK(total.bytes() == first.size() + second.size() + task.size());

        const auto item = [](std::size_t size) { return textItem(std::string(size, 'x')).size(); };
        CHECK(bytesOf(total, "messages") == 8 + item(900));
        CHECK(bytesOf(total, "foo") == 3 * 3 + item(100) + item(50) + item(10));
        CHECK(bytesOf(total, "topic") == 2 * (5 + item(30)));
        REQUIRE(total.channels.size() == 3);
        CHECK(total.channels[0].channel == "messages");  // the largest first
        CHECK(total.channels[1].channel == "foo");
        CHECK(stats.stored_bytes == saver->storedBytes());
        CHECK(stats.stored_bytes.value() > 0);
    });
}

TEST_CASE("stats of nothing are nothing") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        CHECK(saver->stats().threads == 0);
        CHECK(saver->stats().total.bytes() == 0);
        CHECK(saver->stats().per_thread.empty());
        putLine(*saver, {"t"}, 2);
        const SaverStats unknown = saver->stats({.thread_id = "nobody"});
        CHECK(unknown.threads == 0);
        CHECK(unknown.per_thread.empty());
        CHECK(unknown.total.commits == 0);
        CHECK(unknown.stored_bytes);  // of everything
    });
}

TEST_CASE("stats can be of one thread, and of all without a list of them") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        putLine(*saver, {"a"}, 3);
        putLine(*saver, {"a", "child"}, 2);
        putLine(*saver, {"b"}, 7);
        const SaverStats all = saver->stats();
        REQUIRE(all.per_thread.size() == 2);
        CHECK(all.per_thread[0].namespaces == 2);
        CHECK(all.per_thread[0].commits == 5);
        CHECK(all.per_thread[1].commits == 7);
        CHECK(all.total.commits == 12);
        CHECK(all.total.bytes() == all.per_thread[0].bytes() + all.per_thread[1].bytes());
        CHECK(bytesOf(all.total, "channel") ==
              bytesOf(all.per_thread[0], "channel") + bytesOf(all.per_thread[1], "channel"));

        const SaverStats one = saver->stats({.thread_id = "a"});
        REQUIRE(one.per_thread.size() == 1);
        CHECK(one.threads == 1);
        checkSame(one.per_thread[0], all.per_thread[0]);
        checkSame(one.total, all.per_thread[0]);

        const SaverStats totals = saver->stats({.threads = false});
        CHECK(totals.per_thread.empty());
        CHECK(totals.threads == 2);
        checkSame(totals.total, all.total);
    });
}

TEST_CASE("stats read in pages, whatever there is most of") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        // There are many threads. Two of them have many logs, so that a page ends within one, and one of them has a
        // long log.
        for (unsigned t = 0; t < 1200; ++t) putLine(*saver, {"thread " + std::to_string(t)}, 1);
        for (const char* thread_id : {"a", "thread 10 with logs"}) {
            for (unsigned i = 0; i < 1100; ++i)
                putOne(*saver, {thread_id, "child:" + std::to_string(i)}, {}, makeCommit(i + 1, 0));
        }
        std::vector<TestCommit> commits;
        std::vector<CommitRow> rows;
        commits.reserve(2500);
        for (unsigned n = 1; n <= 2500; ++n) rows.push_back(commits.emplace_back(makeCommit(n, n - 1, 1)).row());
        saver->put({.log = {"a"}, .expected_head = {}, .commits = rows, .writes = {}});

        Pages pages(*saver);
        const SaverStats stats = pages.stats();
        CHECK(pages.calls > 10);
        CHECK(stats.threads == 1202);
        CHECK(stats.total.commits == 1200 + 2 * 1100 + 2500);
        CHECK_FALSE(stats.stored_bytes);  // this saver cannot tell
        std::uint64_t records = 0;
        std::uint64_t snapshots = 0;
        for (const auto& row : saver->list({})) {
            records += row.bytes.size();
            snapshots += readHeader({row.thread_id, row.checkpoint_ns, row.id}, row.bytes).base == row.id;
        }
        CHECK(stats.total.bytes() == records);
        CHECK(stats.total.snapshot_bytes / snapshots ==
              stats.total.operation_bytes / (stats.total.commits - snapshots));
        REQUIRE(stats.per_thread.size() == 1202);
        for (const auto& thread : stats.per_thread) {
            if (thread.thread_id == "a") {
                CHECK(thread.namespaces == 1101);
                CHECK(thread.commits == 3600);
                CHECK(thread.newest_at == nthId(2500).time());
            } else if (thread.thread_id == "thread 10 with logs") {
                CHECK(thread.namespaces == 1100);
                CHECK(thread.commits == 1100);
            } else if (thread.commits != 1) {
                FAIL_CHECK(thread.thread_id << " has " << thread.commits << " commits");
            }
        }
    });
}

TEST_CASE("stats name the record that cannot be read, and count the other threads") {
    MemorySaver saver;
    TestCommit damaged = makeCommit(1, 0);
    damaged.bytes.back() ^= 1;
    putOne(saver, {"a damaged thread"}, {}, damaged);
    putLine(saver, {"a whole thread"}, 3);
    const auto checkNamed = [&](const std::string& thread_id) {
        const SaverStats stats = saver.stats();
        CHECK(stats.threads == 1);
        CHECK(stats.total.commits == 3);
        REQUIRE(stats.damaged.size() == 1);
        CHECK(stats.damaged[0].thread_id == thread_id);
        CHECK(stats.damaged[0].why.find("'" + thread_id + "'") != std::string::npos);
        try {
            (void)saver.stats({.thread_id = thread_id});
            FAIL("it was read");
        } catch (const CorruptCheckpointError& error) {
            CHECK(error.message() == stats.damaged[0].why);
        }
    };
    checkNamed("a damaged thread");
    // The checksum is right, but the operations are invalid.
    saver.deleteThread("a damaged thread");
    std::string operations;
    Encoder encoder(operations);
    encoder.map(1);
    encoder.text("channel");
    encoder.text("not an operation");
    const std::string bytes = recordOf({.id = nthId(1), .base = nthId(1), .operations = operations});
    const CommitRow row{nthId(1), {}, nthId(1), bytes};
    saver.put({.log = {"another thread"}, .expected_head = {}, .commits = {&row, 1}, .writes = {}});
    checkNamed("another thread");
}

TEST_CASE("stats show which channel a graph's threads grow by") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        graphs::Graph graph;
        graph
            .addNode("node",
                     [](const graphs::State&) -> graphs::Update {
                         return {set(&graphs::State::foo, "short"), add(&graphs::State::bar, std::string(300, 'x'))};
                     })
            .addEdge(START, "node")
            .addEdge("node", END);
        const graphs::App app = graph.compile({.checkpointer = saver});
        for (int i = 0; i < 20; ++i) app.invoke({set(&graphs::State::foo, "")}, {.thread_id = "t"});
        const SaverStats stats = saver->stats();
        REQUIRE(stats.total.channels.size() >= 2);
        CHECK(stats.total.channels[0].channel == "bar");
        CHECK(bytesOf(stats.total, "bar") >= 20 * 300);
        CHECK(bytesOf(stats.total, "foo") < 2000);
        std::uint64_t records = 0;
        for (const auto& row : saver->list({.with_writes = true})) {
            records += row.bytes.size();
            for (const auto& write : row.writes) records += write.bytes.size();
        }
        CHECK(stats.total.bytes() == records);
    });
}

TEST_CASE("stats are JSON, and lines for people") {
    MemorySaver saver;
    putLine(saver, {"a \"thread\""}, 3);
    putWrite(saver, {"a \"thread\""}, nthId(3), nthId(3), "path", makeTask(nthId(3), false));
    const SaverStats stats = saver.stats();
    const boost::json::value json = boost::json::parse(toJson(stats));
    CHECK(json.at("threads").to_number<std::uint64_t>() == 1);
    CHECK(json.at("stored_bytes").to_number<std::uint64_t>() == stats.stored_bytes);
    CHECK(json.at("total").at("commits").to_number<std::uint64_t>() == 3);
    CHECK(json.at("total").at("bytes").to_number<std::uint64_t>() == stats.total.bytes());
    CHECK(json.at("total").at("channels").at("channel").to_number<std::uint64_t>() == bytesOf(stats.total, "channel"));
    const boost::json::value& thread = json.at("per_thread").at(0);
    CHECK(thread.at("thread_id").as_string() == "a \"thread\"");
    CHECK(thread.at("namespaces").to_number<std::uint64_t>() == 1);
    CHECK(thread.at("newest_unix_ms").to_number<std::int64_t>() ==
          nthId(3).time().time_since_epoch() / std::chrono::milliseconds(1));
    CHECK(thread.at("pending_writes").to_number<std::uint64_t>() == 1);
    CHECK(thread.at("pending_write_bytes").to_number<std::uint64_t>() == stats.total.pending_write_bytes);

    std::ostringstream text;
    text << stats;
    CHECK(text.str().starts_with("threads 1, stored_bytes " + std::to_string(stats.stored_bytes.value()) +
                                 "\ncommits 3\npending_writes 1\n"));
    CHECK(text.str().find("\nchannel channel " + std::to_string(bytesOf(stats.total, "channel"))) != std::string::npos);
}

}  // namespace stategraph::testing
