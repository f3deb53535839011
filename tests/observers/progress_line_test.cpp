#include <doctest/doctest.h>

#include "src/observers/progress_line.hpp"

// The text of a progress bar.
using namespace stategraph::progress;

namespace {
constexpr std::int64_t second_ns = 1'000'000'000;
}

TEST_CASE("a line says how far a superstep is, how quick, what went wrong and how long it will take") {
    const Counts counts{
        .tasks = 100, .done = 45, .restored = 5, .failed = 2, .retries = 1, .elapsed_ns = 10 * second_ns};
    CHECK(superstepLine("import", 3, counts, 120) ==
          "import superstep 3 [##################----------------------] 45/100 4.0/s 2 failed 1 retry 5 restored 0:13 "
          "left");
    CHECK(superstepLine("", 1, {.tasks = 4}, 40) == "superstep 1 [----------------------] 0/4");
    CHECK(superstepLine("", 1, {.tasks = 4, .done = 4, .elapsed_ns = second_ns / 100}, 60) ==
          "superstep 1 [####################################] 4/4 400/s");
}

TEST_CASE("a line is never wider than it may be: the bar gives way, and then the end") {
    const Counts counts{
        .tasks = 1000000, .done = 999, .restored = 5, .failed = 2, .retries = 1, .elapsed_ns = 10 * second_ns};
    for (std::size_t columns = 0; columns < 200; ++columns) {
        const std::string line = superstepLine("läßt", 3, counts, columns);
        CHECK(columnsOf(line) <= columns);
        // No character is cut.
        CHECK(((line.empty() || (static_cast<unsigned char>(line.back()) & 0xC0U) != 0xC0U)));
    }
    CHECK(fitting("aäb", 2) == "aä");
}

TEST_CASE("what a run came to is one line") {
    const Counts counts{.done = 102, .restored = 5, .retries = 2, .elapsed_ns = 9 * second_ns};
    CHECK(endLine("", "done", 3, counts) == "done: 3 supersteps, 102 tasks in 0:09, 10.8/s, 2 retries, 5 restored");
    CHECK(endLine("import", "failed", 1, {.done = 1, .failed = 1, .elapsed_ns = 0}) ==
          "import failed: 1 superstep, 1 task in 0:00, 1 failed");
}

TEST_CASE("durations and labels") {
    CHECK(durationText(-5) == "0:00");
    CHECK(durationText(61 * second_ns) == "1:01");
    CHECK(durationText(3723 * second_ns) == "1:02:03");
    CHECK(durationText(INT64_MAX) == "2562047:47:16");
    CHECK(cleaned("a\r\n\x1b[2Jb") == "a???[2Jb");
}
