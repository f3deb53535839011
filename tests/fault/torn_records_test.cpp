// SECONDS: 90
// ALSO PLAIN: each place of a death
// NOT WITH: sanitize=thread
#include <algorithm>

#include "tests/checkpoint/bytes.hpp"
#include "tests/fault/harness.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/support/record_frame.hpp"
#include "tests/support/sanitized.hpp"

// Each record of a thread is cut short and altered. Every reader names the record.
using namespace fault;

namespace {

/// One row of a saver: a commit, or a pending write of one.
struct Row {
    std::string ns;
    sg::CheckpointId id;
    std::string path;
    std::string bytes;
    sg::RecordLinks links;

    std::string key() const { return sg::RowKey{"t", ns, id, path}.toString(); }
};

/// Returns the rows of a thread that waits for an answer, with commits in the order in which they were stored.
std::vector<Row> rowsOfPausedThread() {
    sg::MemorySaver saver;
    Runs runs;
    const App app = faultGraph(runs, std::shared_ptr<sg::BaseCheckpointSaver>(&saver, [](auto*) {}));
    app.invoke(theInput(), {.thread_id = "t", .max_concurrency = 1, .metadata = {{"user", "somebody"}}});
    std::vector<Row> rows;
    for (const auto& listed : saver.list({.thread_id = "t", .with_writes = true})) {
        for (const auto& write : listed.writes)
            rows.insert(rows.begin(), {listed.checkpoint_ns, listed.id, write.path, write.bytes, {}});
        const auto links = sg::readLinks({"t", listed.checkpoint_ns, listed.id}, listed.bytes);
        rows.insert(rows.begin(), {listed.checkpoint_ns, listed.id, "", std::string(listed.bytes), links});
    }
    return rows;
}

/// Returns a saver that contains these rows, one of them with other bytes.
SharedSaver holding(const std::vector<Row>& rows, const Row& altered, const std::string& bytes) {
    const auto saver = std::make_shared<sg::MemorySaver>();
    std::map<std::string, sg::CheckpointId> heads;
    for (const Row& row : rows) {
        const std::string_view stored = &row == &altered ? bytes : row.bytes;
        sg::CheckpointId& head = heads[row.ns];
        if (row.path.empty()) {
            const sg::CommitRow commit{row.id, row.links.parent, row.links.base, stored};
            saver->put({.log = {"t", row.ns}, .expected_head = head, .commits = {&commit, 1}, .writes = {}});
            head = row.id;
        } else {
            const sg::WriteRow write{row.id, row.path, stored};
            saver->putWrites({"t", row.ns}, head, {&write, 1});
        }
    }
    return saver;
}

/// A way to read a thread.
struct Reader {
    const char* name;
    void (*read)(const SharedSaver& saver, const App& app, const Row& row);
};
const Reader readers[] = {
    {"getState", [](const SharedSaver&, const App& app, const Row&) { (void)app.getState(T, {.subgraphs = true}); }},
    {"getState of the checkpoint",
     [](const SharedSaver&, const App& app, const Row& row) {
         (void)app.getState({.thread_id = "t", .checkpoint_id = row.id, .checkpoint_ns = row.ns}, {.subgraphs = true});
     }},
    {"history",
     [](const SharedSaver&, const App& app, const Row& row) {
         for (const auto& snapshot : app.getStateHistory({.thread_id = "t", .checkpoint_ns = row.ns}))
             (void)sg::toJson(snapshot);
     }},
    {"history without values",
     [](const SharedSaver&, const App& app, const Row& row) {
         for (const auto& snapshot :
              app.getStateHistory({.thread_id = "t", .checkpoint_ns = row.ns}, {.values = false}))
             (void)snapshot;
     }},
    {"RESUME",
     [](const SharedSaver&, const App& app, const Row&) {
         app.invoke(sg::RESUME, {.thread_id = "t", .recursion_limit = 9, .max_concurrency = 1});
     }},
    {"an answer",
     [](const SharedSaver&, const App& app, const Row&) {
         app.invoke(sg::Command<State>{.resume = "yes"},
                    {.thread_id = "t", .recursion_limit = 9, .max_concurrency = 1});
     }},
    {"updateState", [](const SharedSaver&, const App& app,
                       const Row&) { app.updateState(T, {sg::add(&State::sum, 1)}, {.as_node = "last"}); }},
    {"prune",
     [](const SharedSaver& saver, const App&, const Row&) { saver->prune({.thread_id = "t", .keep_last = 1}); }},
    {"a listing of what is unfinished",
     [](const SharedSaver& saver, const App&, const Row&) {
         for (const auto& row : saver->list({.with_writes = true})) {
             (void)sg::readLinks({row.thread_id, row.checkpoint_ns, row.id}, row.bytes);
             (void)sg::readHeader({row.thread_id, row.checkpoint_ns, row.id}, row.bytes);
             for (const auto& write : row.writes) {
                 (void)sg::hasOpenInterrupt({row.thread_id, row.checkpoint_ns, row.id, write.path}, write.bytes);
             }
         }
     }},
};

enum class Said { nothing, corrupt, refused };

/// Reads in one way. A CorruptCheckpointError must name the record if `names_it` is set. Any error that is not the
/// library's fails the test.
Said read(const Reader& reader, const SharedSaver& saver, const Row& row, bool names_it) {
    Runs runs;
    const App app = faultGraph(runs, saver);
    INFO(std::string(reader.name));
    try {
        reader.read(saver, app, row);
        return Said::nothing;
    } catch (const sg::CorruptCheckpointError& error) {
        if (names_it) {
            const std::string said = error.what();
            CHECK_MESSAGE(said.find(row.key()) != std::string::npos, said, " does not name ", row.key());
        }
        return Said::corrupt;
    } catch (const sg::Error&) {
        return Said::refused;
    } catch (const std::exception& error) {
        FAIL_CHECK("throws ", std::string(error.what()));
        return Said::refused;
    }
}

std::string flipped(std::string bytes, std::size_t at, unsigned mask) {
    bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ mask);
    return bytes;
}

}  // namespace

TEST_CASE("every cut and every altered byte of every record is noticed by all that reads it, by name") {
    const auto rows = rowsOfPausedThread();
    REQUIRE(rows.size() > 20);
    REQUIRE(std::any_of(rows.begin(), rows.end(), [](const Row& row) { return !row.ns.empty(); }));
    REQUIRE(std::any_of(rows.begin(), rows.end(), [](const Row& row) { return !row.path.empty(); }));
    std::size_t turn = 0;
    for (const Row& row : rows) {
        CAPTURE(row.key());
        std::vector<const Reader*> who_reads;
        for (const Reader& reader : readers) {
            CHECK((read(reader, holding(rows, row, row.bytes), row, true) != Said::corrupt));
            const auto said = read(reader, holding(rows, row, flipped(row.bytes, row.bytes.size() - 1, 1)), row, true);
            CHECK((said != Said::refused));
            if (said == Said::corrupt) who_reads.push_back(&reader);
        }
        REQUIRE(who_reads.size() >= 2);
        // One reader is used after the other, because all of them for every byte would take minutes.
        const auto isNoticed = [&](const std::string& bytes) {
            const Reader& reader = *who_reads[turn++ % who_reads.size()];
            CHECK((read(reader, holding(rows, row, bytes), row, true) == Said::corrupt));
        };
        for (std::size_t at = sanitized::turn(); at < row.bytes.size(); at += sanitized::one_of) {
            CAPTURE(at);
            isNoticed(row.bytes.substr(0, at));
            isNoticed(flipped(row.bytes, at, 1U << at % 8));
        }
    }
}

TEST_CASE("a record that was altered and given a checksum that fits is read or refused, never worse") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    const auto rows = rowsOfPausedThread();
    std::size_t said[3] = {};
    for (std::size_t n = rounds(sanitized::some(4000)); n > 0; --n) {
        const Row& row = rows[random.below(rows.size())];
        std::string bytes = row.bytes;
        for (std::size_t times = 1 + random.below(3); times > 0; --times) {
            const std::size_t at = frames::frame_size + random.below(bytes.size() - frames::frame_size);
            switch (random.below(4)) {
                case 0:
                    bytes[at] = static_cast<char>(random.bits());
                    break;
                case 1:
                    bytes.resize(std::max(at, frames::frame_size + 1));
                    break;
                case 2:
                    bytes.insert(at, 1, static_cast<char>(random.bits()));
                    break;
                default:
                    bytes = flipped(bytes, at, 1U << random.below(8));
            }
        }
        frames::fixChecksum(row.id, bytes);
        const Reader& reader = readers[random.below(std::size(readers))];
        ++said[static_cast<int>(read(reader, holding(rows, row, bytes), row, false))];
    }
    // These passed the checksum: some were read, and some refused because of their content.
    CHECK(said[0] > 0);
    CHECK(said[1] > 0);
}
