// NOT WITH: sanitize=thread
// What the report makes of figures: peers of the same run alone, better figures of two files, and empty cells.
#include <fstream>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "benchmarks/report/output.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

namespace report = bench::report;

std::string written(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
    const std::string path = (folder / name).string();
    std::ofstream(path) << text;
    return path;
}

report::Measurements measured() {
    report::Measurements all;
    all["steps/a"].time.value = 2e6;
    all["steps/a"].counters["runs_per_second"].value = 500;
    return all;
}

}  // namespace

TEST_CASE("of a peer that was measured twice the better figure counts, which is the higher one of a rate") {
    const TemporaryFolder folder;
    report::PeerFigures peers;
    for (const char* const figures :
         {R"("unit": "ms", "samples": [9, 8, 7]}, {"name": "steps/a:r", "unit": "/s", "samples": [100]})",
          R"("unit": "ms", "samples": [6]}, {"name": "steps/a:r", "unit": "/s", "samples": [90]})"}) {
        report::readPeers(written(folder, "peer.json",
                                  std::string(R"({"peer": "P 1", "figures": [{"name": "steps/a", )") + figures + "]}"),
                          peers);
    }
    REQUIRE(peers["steps/a"].size() == 1);
    CHECK(peers["steps/a"][0].value == 6e6);
    CHECK(peers["steps/a"][0].timesBetter(2e6) == 3);
    CHECK(peers["steps/a:r"][0].value == 100);
    CHECK(peers["steps/a:r"][0].timesBetter(500) == 5);
}

TEST_CASE("a case of another library in our program is a peer and no case of ours") {
    auto all = measured();
    all["steps/a/peer/oneTBB 2021.8"].time.value = 1e6;
    report::PeerFigures peers;
    report::takePeers(all, peers);
    CHECK(all.size() == 1);
    REQUIRE(report::bestPeer(peers, "steps/a", "oneTBB"));
    CHECK(report::bestPeer(peers, "steps/a", "oneTBB")->timesBetter(2e6) == 0.5);
    CHECK_FALSE(report::bestPeer(peers, "steps/a", "Taskflow"));
}

TEST_CASE("a line of the budget compares with a named peer, and has no value without it") {
    const TemporaryFolder folder;
    const std::string budget = written(folder, "budget.json", R"({"lines": [
        {"case": "steps/a", "relative_to_peer": "P", "what": "time", "unit": "x", "at_least": 3},
        {"case": "steps/a", "counter": "runs_per_second", "relative_to_peer": "P", "what": "rate", "unit": "x", "at_least": 6},
        {"case": "steps/a", "relative_to_peer": "Q", "what": "absent", "unit": "x", "at_least": 1},
        {"case": "steps/a", "what": "shown", "unit": "ns"}]})");
    const report::PeerFigures peers{{"steps/a", {{"O", 1e6}, {"P 1", 8e6}}},
                                    {"steps/a:runs_per_second", {{"P 1", 100, true}}}};
    const auto lines = report::budgetLines(budget, measured(), peers);
    CHECK(lines[0].value == 4);
    CHECK(lines[0].met() == true);
    CHECK(lines[1].value == 5);
    CHECK(lines[1].met() == false);
    CHECK_FALSE(lines[2].value);
    CHECK_FALSE(lines[2].met());
    CHECK(lines[3].value == 2e6);
    CHECK_FALSE(lines[3].met());
}

TEST_CASE("a table leaves cells empty for what was not measured, and marks what is published") {
    const TemporaryFolder folder;
    const std::string tables = written(folder, "tables.json", R"({"tables": [
        {"title": "Steps", "columns": [{"label": "p50", "unit": "ns"}, {"label": "runs", "counter": "runs_per_second", "unit": "/s"}], "rows": [
          {"what": "ours", "case": "steps/a"}, {"what": "P", "case": "steps/a", "peer": "P"},
          {"what": "Q", "case": "steps/a", "peer": "Q"}, {"what": "R", "source": "R's makers", "p50": 5000000}]},
        {"title": "Nothing", "columns": [{"label": "p50", "unit": "ns"}], "rows": [
          {"what": "ours", "case": "steps/b"}, {"what": "R", "source": "R's makers", "p50": 1}]}]})");
    const report::PeerFigures peers{{"steps/a", {{"P 1", 8e6}}}};
    const auto read = report::readTables(tables, measured(), peers);
    REQUIRE(read.size() == 1);
    std::ostringstream out;
    report::printTable(out, read[0]);
    CHECK(out.str() ==
          "\n### Steps\n"
          "|      | p50     | runs   | measured              |\n"
          "|------|---------|--------|-----------------------|\n"
          "| ours | 2.00 ms | 500 /s | in this run           |\n"
          "| P    | 8.00 ms |        | in this run           |\n"
          "| Q    |         |        |                       |\n"
          "| R    | 5.00 ms |        | published: R's makers |\n");
}
