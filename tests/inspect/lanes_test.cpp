#include <doctest/doctest.h>

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
