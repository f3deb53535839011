#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "src/checkpoint/record.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// Stored bytes that are damaged, missing or hostile, seen through a graph.
namespace sg = stategraph;
namespace cp = stategraph::checkpoint;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};

/// Returns one commit's bytes with a flipped bit, or leaves the commit out.
class DamagedSaver final : public CountingSaver {
public:
    sg::CheckpointId damaged;
    bool missing = false;

    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
        auto tuple = CountingSaver::getTuple(query);
        if (!tuple) return tuple;
        spoil(tuple->commits);
        if (tuple->next && tuple->next->id == damaged) flip(tuple->next->bytes);
        return tuple;
    }
    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override {
        auto rows = CountingSaver::list(query);
        spoil(rows);
        return rows;
    }

private:
    static void flip(sg::RowBytes& bytes) {
        std::string flipped(bytes);
        flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 4);
        bytes = std::move(flipped);
    }
    template <class Rows>
    void spoil(Rows& rows) const {
        if (missing) std::erase_if(rows, [this](const auto& row) { return row.id == damaged; });
        for (auto& row : rows) {
            if (row.id == damaged) flip(row.bytes);
        }
    }
};

std::string whole(sg::CheckpointId id) {
    return sg::RowKey{.thread_id = "t", .checkpoint_ns = "", .id = id}.toString();
}

/// Checks that reading succeeds, or reports that the record is corrupt. Anything else fails the test.
template <class F>
void survives(const char* what, F call) {
    try {
        (void)call();
    } catch (const sg::CorruptCheckpointError& error) {
        CHECK(std::string(error.what()).find("'t'") != std::string::npos);
    } catch (const sg::Error& error) {
        // A record may contain something that this graph cannot do.
        const bool fits = error.code() == sg::Errc::invalid_argument || error.code() == sg::Errc::invalid_update;
        CHECK_MESSAGE(fits, std::string(what), " throws ", std::string(error.what()));
    } catch (const std::exception& error) {
        FAIL_CHECK(std::string(what), " throws ", std::string(error.what()));
    }
}

/// Stores one commit with these parts, and reads it in every way.
void readAll(cp::CommitFields commit, std::string_view task = {}) {
    const auto saver = std::make_shared<sg::MemorySaver>();
    commit.id = sg::CheckpointId("01900000-0000-7000-8000-000000000001");
    commit.base = commit.id;
    std::string bytes;
    cp::writeCommit(commit, bytes);
    const sg::CommitRow row{commit.id, {}, commit.id, bytes};
    const sg::WriteRow write{commit.id, "pull:a", task};
    const std::size_t writes = task.empty() ? 0 : 1;
    saver->put({.log = {"t"}, .expected_head = {}, .commits = {&row, 1}, .writes = {&write, writes}});
    const LineApp app = chainOf({"a"}).compile({.checkpointer = saver});
    survives("getState", [&] { return app.getState(T); });
    survives("getState at a checkpoint", [&] { return app.getState({.thread_id = "t", .checkpoint_id = commit.id}); });
    survives("history", [&] { return historyOf(app, T); });
    survives("history without values", [&] { return historyOf(app, T, {.values = false}); });
    survives("filtered history", [&] { return historyOf(app, T, {.filter = {{"k", 1}}}); });
    survives("updateState", [&] { return app.updateState({.thread_id = "t", .checkpoint_id = commit.id}, says("x")); });
    survives("history with a follower", [&] { return historyOf(app, T); });
    survives("RESUME", [&] { return app.invoke(sg::RESUME, {.thread_id = "t", .checkpoint_id = commit.id}); });
    survives("invoke", [&] { return app.invoke(says("x"), {.thread_id = "t"}); });
}

}  // namespace

TEST_CASE("a damaged record in the middle is named by every call that needs it, and by no other") {
    const auto saver = std::make_shared<DamagedSaver>();
    const LineApp app = chainOf({"a", "b"}).compile({.checkpointer = saver});
    app.invoke(says("i"), {.thread_id = "t"});
    const auto past = pastOf(app, T);
    saver->damaged = past[2].config.checkpoint_id;
    const Words parts{whole(saver->damaged)};
    for (const bool missing : {false, true}) {
        CAPTURE(missing);
        saver->missing = missing;
        const std::size_t puts = saver->puts;
        CHECK(mentions(errorOf<sg::CorruptCheckpointError>([&] { return app.getState(T); }), parts));
        CHECK(mentions(errorOf<sg::CorruptCheckpointError>([&] { return historyOf(app, T); }), parts));
        CHECK(mentions(errorOf<sg::CorruptCheckpointError>([&] { return app.invoke(says("x"), {.thread_id = "t"}); }),
                       parts));
        CHECK(mentions(errorOf<sg::CorruptCheckpointError>([&] { return app.invoke(sg::RESUME, {.thread_id = "t"}); }),
                       parts));
        CHECK(mentions(
            errorOf<sg::CorruptCheckpointError>([&] { return app.updateState(T, says("x"), {.as_node = "a"}); }),
            parts));
        CHECK(saver->puts == puts);
        CHECK(app.getState(past[0].config).values.v.empty());
    }
    saver->missing = false;
    CHECK(mentions(errorOf<sg::CorruptCheckpointError>([&] { return historyOf(app, T, {.values = false}); }), parts));
}

TEST_CASE("records that say anything at all are read or refused, never worse") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    for (int n = 0; n < 300; ++n) {
        CAPTURE(n);
        const std::string operations = random.item();
        const std::string writes = random.item();
        const std::string input = random.item();
        const std::string metadata = random.item();
        cp::CommitFields commit;
        commit.step = static_cast<std::int64_t>(random.below(4)) - 1;
        switch (random.below(4)) {
            case 0:
                commit.operations = operations;
                break;
            case 1:
                commit.input = input;
                break;
            case 2:
                commit.metadata = metadata;
                break;
            default:
                commit.writes = writes;
        }
        commit.next = {"a"};
        std::string task;
        cp::TaskFields fields{.node = "a"};
        if (random.chance(3)) {
            fields.writes = writes;
            cp::writeTask(sg::CheckpointId("01900000-0000-7000-8000-000000000001"), fields, task);
        }
        readAll(commit, task);
    }
}

TEST_CASE("records whose parts are nearly right are read or refused, never worse") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    const auto one = [&](auto write) {
        std::string out;
        sg::Encoder encoder(out);
        write(encoder);
        return out;
    };
    for (int n = 0; n < 300; ++n) {
        CAPTURE(n);
        const std::string letter(1, "=+|~-!w?"[random.below(8)]);
        const std::string channel = random.chance(4) ? "unknown" : "v";
        const std::string value = random.item();
        const auto operations = one([&](sg::Encoder& out) {
            out.map(1);
            out.text(channel);
            out.array(letter == "-" ? 1 : 2);
            out.text(letter);
            if (letter != "-") out.raw(value);
        });
        const auto writes = one([&](sg::Encoder& out) {
            out.array(1);
            out.array(letter == "-" ? 2 : 3);
            out.text(channel);
            out.text(letter);
            if (letter != "-") out.raw(value);
        });
        cp::CommitFields commit;
        if (random.chance(2)) commit.operations = operations;
        if (random.chance(3)) commit.input = writes;
        if (random.chance(3)) commit.writes = writes;
        commit.next = {"a"};
        std::string task;
        cp::TaskFields fields{.node = "a"};
        if (random.chance(2)) {
            fields.writes = writes;
            cp::writeTask(sg::CheckpointId("01900000-0000-7000-8000-000000000001"), fields, task);
        }
        readAll(commit, task);
    }
}
