// Groups of queues, which have their turns one after the other.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "worker/queue_turns.hpp"

namespace {

namespace sg = stategraph;
using sg::workers::QueueTurns;
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a queue belongs to its own name, or to the longest name of a group that fits") {
    const std::vector<sg::WorkerQueue> queues{{.name = "*"}, {.name = "tenant/*"}, {.name = "tenant/a"}};
    const QueueTurns turns(queues);
    CHECK(turns.find("tenant/a") == std::size_t{2});
    CHECK(turns.find("tenant/b") == std::size_t{1});
    CHECK(turns.find("tenant/") == std::size_t{1});
    CHECK(turns.find("other") == std::size_t{0});
    CHECK(turns.isGroup(1));
    CHECK_FALSE(turns.isGroup(2));
    CHECK_FALSE(QueueTurns(std::vector<sg::WorkerQueue>{{.name = "a"}}).find("b"));
}

TEST_CASE("a turn begins after the last one, and leaves out queues that have a name of their own") {
    const std::vector<sg::WorkerQueue> queues{{.name = "t/*"}, {.name = "t/b"}};
    QueueTurns turns(queues);
    CHECK(turns.after(0).empty());
    Names names;
    turns.note(0, {.names = {"t/a", "t/b", "t/c"}, .last = "t/c"}, names);
    CHECK(names == Names{"t/a", "t/c"});
    CHECK(turns.after(0) == "t/c");
    turns.note(0, {.names = {"t/a", "t/d"}, .last = ""}, names);
    CHECK(names == Names{"t/a", "t/c", "t/d"});
    CHECK(turns.after(0).empty());
}

TEST_CASE("a claim that began in the middle of a group has passed all of its queues when it is there again") {
    const std::vector<sg::WorkerQueue> queues{{.name = "t/*"}};
    QueueTurns turns(queues);
    Names names;
    turns.begin();
    CHECK_FALSE(turns.isWhole(0));
    turns.note(0, {.names = {"t/a", "t/b"}, .last = "t/b"}, names);
    CHECK_FALSE(turns.isWhole(0));
    turns.begin();  // after t/b
    turns.note(0, {.names = {"t/c"}, .last = ""}, names);
    CHECK_FALSE(turns.isWhole(0));
    turns.note(0, {.names = {"t/a"}, .last = "t/a"}, names);
    CHECK_FALSE(turns.isWhole(0));
    turns.note(0, {.names = {"t/b", "t/c"}, .last = "t/c"}, names);
    CHECK(turns.isWhole(0));
}

TEST_CASE("a claim has passed all queues of a group with the first end if it began there, and else with the second") {
    const std::vector<sg::WorkerQueue> queues{{.name = "t/*"}};
    QueueTurns turns(queues);
    Names names;
    turns.begin();
    turns.note(0, {.names = {}, .last = "t/k"}, names);  // it has looked at many, and none had a due thread
    CHECK_FALSE(turns.isWhole(0));
    turns.note(0, {.names = {"t/x"}, .last = ""}, names);
    CHECK(turns.isWhole(0));
    turns.note(0, {.names = {"t/a"}, .last = "t/a"}, names);
    turns.begin();  // after t/a
    turns.note(0, {.names = {}, .last = ""}, names);
    CHECK_FALSE(turns.isWhole(0));
    turns.note(0, {.names = {}, .last = ""}, names);
    CHECK(turns.isWhole(0));
}
