// The commands for the slots of a sharded deployment: lists, moves, moves that broke off, checks.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/error.hpp>
#include <stategraph/inspect/command.hpp>
#include <stategraph/json.hpp>

#include "inspect/shards.hpp"
#include "tests/storage/sharded/postgres/slot_moves_helper.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace slot_moves;
using stategraph::inspect::Exit;

namespace {

struct Said {
    Exit exit;
    std::string out;
    std::string error;
};

/// Clusters, the file that names them, and the command line.
struct Deployment {
    TemporaryFolder folder;
    Clusters clusters;
    std::string file = (folder / "clusters").string();

    explicit Deployment(Clusters given) : clusters(std::move(given)) {
        clusters.setUp();
        std::ofstream out(file);
        out << "# the clusters\n\n";
        for (std::size_t i = 0; i < clusters.settings().size(); ++i)
            out << clusters.settings()[i].name << "   " << address(clusters.server(i)) << '#' << clusters.schema(i)
                << '\n';
    }
    static std::string address(const std::string& info) {
        const std::size_t host = info.find("host=") + 5;
        return "postgresql://sg@/postgres?host=" + info.substr(host, info.find(' ', host) - host) +
               "&connect_timeout=300";
    }
    Said run(std::vector<std::string> words) const {
        words.insert(words.end(), {"--clusters", file});
        std::ostringstream out;
        std::ostringstream error;
        const Exit exit = stategraph::inspect::runCommand(words, out, error, {});
        return {exit, out.str(), error.str()};
    }
    std::map<std::string, Value> json(std::vector<std::string> words) const {
        words.emplace_back("--json");
        return parseJson(run(std::move(words)).out).as<std::map<std::string, Value>>();
    }
};

std::string slotText() { return std::to_string(slot); }

/// Lets a move of the slot to b end with an exception at this step.
void breakOff(PostgresShards& shards, SlotMoveStep at) {
    CHECK_THROWS_AS(moveTo(shards, "b",
                           {.on_progress =
                                [&](const SlotMoveEvent& event) {
                                    if (event.step == at) throw std::runtime_error("breaks off");
                                }}),
                    std::runtime_error);
}

}  // namespace

TEST_CASE("slots are named by ranges, and shown by them") {
    using stategraph::inspect::rangesOf;
    using stategraph::inspect::slotsOf;
    CHECK(slotsOf("7") == std::vector<std::size_t>{7});
    CHECK(slotsOf("3-5,1,4,1023") == std::vector<std::size_t>{3, 4, 5, 1, 1023});
    CHECK(slotsOf("0-1023").size() == shard_slots);
    for (const char* const wrong :
         {"", ",", "1,", "1-", "-1", "2-1", "1024", "0-1024", "a", "1 2", "99999999999999999999"})
        CHECK_THROWS_AS(slotsOf(wrong), stategraph::inspect::UsageError);
    CHECK(rangesOf({}).empty());
    CHECK(rangesOf({1, 2, 3, 5, 7, 8}) == "1-3, 5, 7-8");
}

TEST_CASE("the commands list slots, move some with their threads, and find nothing wrong afterwards") {
    const Deployment on(Clusters(2));
    const auto saver = on.clusters.openSaver();
    const std::string name = nameIn(slot);
    putLine(*saver, {name}, 5);
    const Said before = on.run({"slots"});
    CHECK(before.exit == Exit::done);
    CHECK(before.out == "a  512 slots  0-511\nb  512 slots  512-1023\n");
    CHECK(on.run({"check-slots"}).exit == Exit::done);

    const Said moved = on.run({"move-slots", "76-78,900", "b"});
    CHECK_MESSAGE(moved.exit == Exit::done, moved.error);
    CHECK(moved.out.find("slot 77  a -> b  1 threads\n") != std::string::npos);
    CHECK(moved.out.find("3 slots were moved, with 1 threads, 5 commits") != std::string::npos);
    CHECK(on.run({"slots"}).out == "a  509 slots  0-75, 79-511\nb  515 slots  76-78, 512-1023\n");
    CHECK(listIds(*saver, {name}).size() == 5);
    const Said checked = on.run({"check-slots"});
    CHECK(checked.exit == Exit::done);
    CHECK(checked.out.find("each slot is in one cluster") != std::string::npos);

    const auto back = on.json({"move-slots", "77", "a", "--threads-at-once", "1"});
    CHECK(back.at("slots") == Value(1));
    CHECK(back.at("commits") == Value(5));
    const auto listed = on.json({"slots"});
    using Views = std::vector<std::map<std::string, Value>>;
    CHECK(listed.at("clusters").as<Views>().at(0).at("slots") == Value(510));
    CHECK(listed.at("notable").as<Views>().empty());
    CHECK(on.run({"resume-moves"}).exit == Exit::done);
}

TEST_CASE("moves that broke off at any step are shown, and resumed or cleared") {
    for (const SlotMoveStep at :
         {SlotMoveStep::begun, SlotMoveStep::copying, SlotMoveStep::leaving, SlotMoveStep::moved}) {
        CAPTURE(toString(at));
        const Deployment on(Clusters(2));
        const auto saver = on.clusters.openSaver();
        const std::string name = nameIn(slot);
        putLine(*saver, {name}, 5);
        breakOff(*on.clusters.open(), at);
        const Said found = on.run({"check-slots"});
        CHECK(found.exit == Exit::no);
        if (at == SlotMoveStep::moved)
            CHECK(found.out.find("slot 77 is in 'b'; 'a' still has rows of it") != std::string::npos);
        else
            CHECK(found.out.find("slot 77 is in 'a', and a move of it to 'b' broke off") != std::string::npos);
        CHECK(on.run({"slots"}).exit == Exit::done);
        const Said resumed = on.run({"resume-moves"});
        CHECK_MESSAGE(resumed.exit == Exit::done, resumed.error);
        CHECK(on.run({"check-slots"}).exit == Exit::done);
        CHECK(on.clusters.rowsOf(0, slot) == "0");
        CHECK(on.clusters.openSaver()->getTuple({.log = {name}})->head == nthId(5));
        CHECK(listIds(*saver, {name}).size() == 5);
    }
}

TEST_CASE("a move that was decided and not ended is ended, and one of another process is left alone") {
    const Deployment on(Clusters(2));
    putLine(*on.clusters.openSaver(), {nameIn(slot)}, 5);
    breakOff(*on.clusters.open(), SlotMoveStep::leaving);
    on.clusters.run(0, "UPDATE {S}.slots SET state = 0, version = version + 1, owner = 'b' WHERE slot = " + slotText());
    CHECK(on.run({"check-slots"})
              .out.find("slot 77 is in 'b', and the move to there was not ended; 'a' still has rows") !=
          std::string::npos);
    CHECK(on.run({"resume-moves"}).exit == Exit::done);
    CHECK(on.run({"check-slots"}).exit == Exit::done);
    CHECK(stateOf(on.clusters, 1) == "1");

    on.clusters.run(0,
                    "UPDATE {S}.slots SET state = 2, version = version + 1, peer = 'b', until = now() + interval "
                    "'1 hour' WHERE slot = 5");
    CHECK(on.run({"slots"}).out.find("slot 5 is in 'a', and moves to 'b'") != std::string::npos);
    const Said left = on.run({"resume-moves"});
    CHECK(left.exit == Exit::no);
    CHECK(left.out.find("left: 5") != std::string::npos);
    on.clusters.run(0, "UPDATE {S}.slots SET until = now() - interval '1 hour' WHERE slot = 5");
    CHECK(on.run({"resume-moves"}).exit == Exit::done);
    CHECK(stateOf(on.clusters, 1) == "1");
    CHECK(on.clusters.run(1, "SELECT state FROM {S}.slots WHERE slot = 5") == "1");
}

TEST_CASE("a slot that two clusters claim, or that none has, is a fault that nothing is done about") {
    const Deployment on(Clusters(2));
    on.clusters.run(1, "UPDATE {S}.slots SET state = 1, owner = 'b' WHERE slot = 3");
    on.clusters.run(0, "UPDATE {S}.slots SET state = 0, version = version + 5, owner = 'b' WHERE slot = 4");
    on.clusters.run(0, "UPDATE {S}.slots SET state = 0, version = version + 5, owner = 'c' WHERE slot = 6");
    const Said found = on.run({"check-slots"});
    CHECK(found.exit == Exit::no);
    CHECK(found.out.find("slot 3: clusters 'a' and 'b' both say that they have it") != std::string::npos);
    CHECK(found.out.find("slot 4: it is said to be in the cluster 'b', which does not have it") != std::string::npos);
    CHECK(found.out.find("slot 6: it is said to be in the cluster 'c', which is not among the given ones") !=
          std::string::npos);
    const Said refused = on.run({"resume-moves"});
    CHECK(refused.exit == Exit::failed);
    CHECK(refused.error.find("slot 3: clusters 'a' and 'b' both say") != std::string::npos);
}

TEST_CASE("clusters that cannot be reached, and wrong arguments, have exit codes of their own") {
    const Deployment on(Clusters(2));
    CHECK(on.run({"move-slots", "1-2000", "b"}).exit == Exit::usage);
    const Said unknown = on.run({"move-slots", "1", "c"});
    CHECK(unknown.exit == Exit::usage);
    CHECK(unknown.error.find("there is no cluster 'c'") != std::string::npos);
    CHECK(on.run({"move-slots", "1"}).exit == Exit::usage);
    CHECK(on.run({"slots", "--store", "x"}).exit == Exit::usage);
    std::ostringstream out;
    std::ostringstream error;
    const std::vector<std::string> none{"slots"};
    CHECK(stategraph::inspect::runCommand(none, out, error, {}) == Exit::usage);
    CHECK(error.str().find("--clusters FILE") != std::string::npos);

    std::ofstream(on.file) << "a " << Deployment::address(on.clusters.server(0)) << '#' << on.clusters.schema(0)
                           << "\nb postgresql://nobody@/nothing?host=/no/such/folder\n";
    const Said down = on.run({"slots"});
    CHECK(down.exit == Exit::failed);
    CHECK(down.out.find("a  512 slots  0-511") != std::string::npos);
    CHECK(down.out.find("/no/such/folder") != std::string::npos);
    CHECK(on.run({"check-slots"}).exit == Exit::failed);
    CHECK(on.run({"resume-moves"}).exit == Exit::failed);
    CHECK(on.run({"move-slots", "1", "b"}).exit == Exit::failed);

    for (const char* const wrong : {"", "a\n", "a host=x\n", "a postgresql://x/y z\n"}) {
        std::ofstream(on.file) << wrong;
        CHECK(on.run({"slots"}).exit == Exit::usage);
    }
    std::filesystem::remove(on.file);
    CHECK(on.run({"slots"}).exit == Exit::usage);
}
