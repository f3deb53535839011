// SECONDS: 50
// ALSO PLAIN: with a sanitizer it kills five movers and not twelve
#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/storage/sharded/postgres/slot_moves_helper.hpp"
#include "tests/support/helper_process.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"

// Movers that are killed and frozen at any moment, while programs write.
using namespace slot_moves;
using helpers::given;
using helpers::Helper;

TEST_CASE("helper: moves a slot to and fro without an end" * doctest::skip()) {
    const std::string place = given("STATEGRAPH_TEST_DATABASE");
    if (place.empty()) return;
    // Two addresses and two schemas, a line each.
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < place.size();) {
        const std::size_t end = place.find('\n', at);
        parts.push_back(place.substr(at, end - at));
        at = end + 1;
    }
    PostgresShards shards(
        {{.name = "a", .conninfo = parts.at(0), .options = patient<PostgresSaverOptions>({.schema = parts.at(2)})},
         {.name = "b", .conninfo = parts.at(1), .options = patient<PostgresSaverOptions>({.schema = parts.at(3)})}});
    std::ofstream notes(given("STATEGRAPH_TEST_NOTES"));
    for (;;) {
        const std::string to = shards.readMap().shard_of[slot] == 0 ? "b" : "a";
        (void)moveBesideWriters(shards, to, {.threads_at_once = 2, .on_progress = [&](const SlotMoveEvent& event) {
                                                 notes << toString(event.step) << '\n' << std::flush;
                                             }});
    }
}

TEST_CASE("movers that are killed and frozen at any moment lose nothing that was confirmed to writers") {
    const TemporaryFolder folder;
    const Clusters clusters = makeClusters();
    clusters.setUp();
    const std::string place =
        clusters.server(0) + '\n' + clusters.server(1) + '\n' + clusters.schema(0) + '\n' + clusters.schema(1) + '\n';
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    MESSAGE("seed " << seed);
    std::minstd_rand random(seed);
    std::map<std::string, int> died_after;
    int moved = 0;
    Writers writers(clusters, 3);
    writers.awaitMore(10);
    const int rounds = sanitized::one_of == 1 ? 12 : 5;  // under one each takes ten times as long
    for (int round = 0; round < rounds; ++round) {
        const auto notes = folder / ("notes" + std::to_string(round));
        Helper mover("helper: moves a slot to and fro without an end", place, notes);
        helpers::awaitLines(notes, 1 + random() % 14);
        // sleeps: the moment differs from round to round
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
        if (round % 4 == 3) {
            // A mover that sleeps while another one takes over, and wakes in the middle of that.
            mover.freeze();
            Helper second("helper: moves a slot to and fro without an end", place, folder / "second");
            helpers::awaitLines(folder / "second", 3 + random() % 6);
            mover.thaw();
            // sleeps: the moment differs from round to round
            std::this_thread::sleep_for(std::chrono::milliseconds(random() % 100));
            second.kill();
        }
        mover.kill();
        std::ifstream file(notes);
        std::string last;
        for (std::string line; std::getline(file, line); last = line) moved += line == "moved";
        ++died_after[last];
        writers.awaitMore(5);  // everything that the killed mover delayed ends by itself
    }
    const auto shards = clusters.open();
    (void)moveBesideWriters(*shards, "a");
    (void)moveBesideWriters(*shards, "b");  // one of the two moves it, and so clears what the killed ones left
    writers.awaitMore(5);
    writers.stop();
    writers.check(*clusters.openSaver());
    CHECK(clusters.rowsOf(0, slot) == "0");
    CHECK((moved > 0 || rounds < 12));
    for (const auto& [step, times] : died_after) MESSAGE("killed after " << step << ": " << times);
}
