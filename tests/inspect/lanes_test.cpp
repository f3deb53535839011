#include <algorithm>
#include <memory>
#include <sstream>

#include <doctest/doctest.h>

#include <stategraph/inspect/command.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/records.hpp>

#include "inspect/lanes.hpp"

// Branches of a log as text.
namespace sg = stategraph;

namespace {

sg::CheckpointId id(std::uint64_t number) { return {number, 1}; }

std::string draw(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& log) {
    sg::inspect::Lanes lanes;
    std::string text;
    for (const auto& [own, parent] : log) {
        const auto drawn = lanes.next(id(own), parent == 0 ? sg::CheckpointId() : id(parent));
        for (const auto& line : drawn.above) text += line + "\n";
        text += drawn.prefix + std::to_string(own) + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("a log without branches is one lane") { CHECK(draw({{3, 2}, {2, 1}, {1, 0}}) == "* 3\n* 2\n* 1\n"); }

TEST_CASE("a branch has a lane of its own until the checkpoint it began from") {
    CHECK(draw({{5, 2}, {4, 3}, {3, 2}, {2, 1}, {1, 0}}) == "* 5\n| * 4\n| * 3\n|/\n* 2\n* 1\n");
}

TEST_CASE("several branches may begin at one checkpoint") {
    CHECK(draw({{5, 1}, {4, 1}, {3, 1}, {1, 0}}) == "* 5\n| * 4\n| | * 3\n|-+/\n|/\n* 1\n");
}

TEST_CASE("a log whose beginning was pruned ends with its lanes open") {
    CHECK(draw({{9, 8}, {7, 6}}) == "* 9\n| * 7\n");
}

TEST_CASE("log --graph writes the time in which nothing happened as words, next to the lanes") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    std::uint64_t ms = 1'700'000'000'000;
    std::vector<sg::CheckpointId> ids;
    for (const std::uint64_t later : {0, 1'000, 240'000, 7'200'000}) {
        ms += later;
        ids.emplace_back(ms << 16U | 0x7000U, std::uint64_t{0x8000000000000000U} + ids.size());
        sg::testing::CommitRecordFields fields{.id = ids.back(), .step = static_cast<std::int64_t>(ids.size()) - 2};
        if (ids.size() > 1) fields.parent = ids[ids.size() - 2];
        const std::string bytes = sg::testing::makeCommitRecord(fields);
        const sg::CommitRow row{.id = fields.id, .parent = fields.parent, .base = fields.id, .bytes = bytes};
        saver->put({.log = {"t"}, .expected_head = fields.parent, .commits = {&row, 1}, .writes = {}});
    }
    const auto log = [&](const std::vector<std::string>& arguments) {
        std::ostringstream out;
        const auto exit = sg::inspect::runCommand(
            arguments, out, out, {.open = [&](const std::string& /*store*/, bool /*for_writing*/) { return saver; }});
        CHECK(exit == sg::inspect::Exit::done);
        return out.str();
    };
    const std::string drawn = log({"log", "t", "--graph"});
    CHECK(drawn.find("\n|       2 h idle\n* ") != std::string::npos);
    CHECK(drawn.find("\n|       4 min idle\n* ") != std::string::npos);
    CHECK(std::ranges::count(drawn, '\n') == 6);
    CHECK(std::ranges::count(log({"log", "t"}), '\n') == 4);
}
