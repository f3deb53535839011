#include <atomic>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <pty.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/progress.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"

// A progress bar: what it draws, where, and that nothing that happens to it harms a run.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

Graph fan(int tasks, std::atomic<bool>& fails) {
    Graph graph;
    graph.addNode("split",
                  [tasks](const State&) -> Command {
                      Command command;
                      for (int i = 0; i < tasks; ++i) command.go_to.add(sg::Send("w", i));
                      return command;
                  },
                  {.ends = {"w"}});
    graph.addNode("w",
                  [&fails](const int& number, sg::Runtime& runtime) -> Update {
                      if (number == 1 && runtime.attempt() == 1) throw std::runtime_error("at first");
                      if (number == 2 && fails) throw std::runtime_error("down");
                      return {sg::add(&State::n, 1)};
                  },
                  {.retry = {.max_attempts = 2, .initial_interval = std::chrono::milliseconds(0), .jitter = false}});
    return graph.addEdge(sg::START, "split").addEdge("w", "end").addNode("end", appends("end"));
}

std::size_t countOf(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

/// Returns the last line, as a terminal would show it.
std::string lastLine(const std::string& text) {
    std::string line = text.substr(0, text.find_last_not_of('\n') + 1);
    line = line.substr(line.find_last_of("\r\n") + 1);
    const std::size_t erase = line.find("\x1b[K");
    return erase == std::string::npos ? line : line.substr(0, erase);
}

}  // namespace

TEST_CASE("a line is drawn anew as tasks end, and the run's own replaces it at the end, in every driver") {
    std::atomic<bool> fails{false};
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = fan(10, fails).compile({.checkpointer = saver});
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        std::ostringstream out;
        sg::ProgressBar bar(
            {.label = "fan", .style = sg::ProgressStyle::line, .out = &out, .width = 100, .redraw_every = 0ms});
        REQUIRE(driver.run(app, Update{}, {.thread_id = driver.name, .observer = &bar}).what() == "");
        const std::string text = out.str();
        CHECK(contains(text, "\rfan superstep 2 ["));
        CHECK(contains(text, " 10/10 "));
        CHECK(contains(text, "1 retry"));
        CHECK(countOf(text, "\n") == 1);
        CHECK(text.back() == '\n');
        const std::string last = lastLine(text);
        CHECK(last.starts_with("fan done: 3 supersteps, 12 tasks in 0:0"));
        CHECK(contains(last, "1 retry"));
        CHECK_FALSE(contains(text, "superstep 4"));
        CHECK(bar.failures() == 0);
    }
}

TEST_CASE("failures and what was restored are shown") {
    std::atomic<bool> fails{true};
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = fan(5, fails).compile({.checkpointer = saver});
    std::ostringstream out;
    sg::ProgressBar bar({.style = sg::ProgressStyle::line, .out = &out, .width = 100, .redraw_every = 0ms});
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t", .observer = &bar}), sg::NodeError);
    CHECK(contains(lastLine(out.str()), "failed: 2 supersteps, 5 tasks"));
    CHECK(contains(lastLine(out.str()), "1 failed"));
    out.str("");
    fails = false;
    app.invoke(sg::RESUME, {.thread_id = "t", .observer = &bar});
    CHECK(contains(out.str(), "\rsuperstep 1 ["));
    CHECK(contains(out.str(), "] 4/5 4 restored"));
    CHECK(contains(lastLine(out.str()), "done: 2 supersteps, 6 tasks"));
    CHECK(contains(lastLine(out.str()), "4 restored"));
}

TEST_CASE("where there is no terminal it is quiet, and plain lines come only if asked") {
    std::atomic<bool> fails{false};
    const App app = fan(4, fails).compile();
    std::ostringstream out;
    {
        sg::ProgressBar bar({.out = &out});
        app.invoke(Update{}, {.observer = &bar});
        sg::ProgressBar none({.style = sg::ProgressStyle::none, .out = &out});
        app.invoke(Update{}, {.observer = &none});
    }
    CHECK(out.str() == "");
    {
        sg::ProgressBar bar({.style = sg::ProgressStyle::plain, .out = &out});
        app.invoke(Update{}, {.observer = &bar});
        app.invoke(Update{}, {.observer = &bar});
    }
    CHECK(countOf(out.str(), "\n") == 2);
    CHECK_FALSE(contains(out.str(), "\r"));
    CHECK_FALSE(contains(out.str(), "\x1b"));
    // A pipe is not a terminal either.
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    {
        sg::ProgressBar bar({.fd = ends[1]});
        app.invoke(Update{}, {.observer = &bar});
    }
    close(ends[1]);
    char byte = 0;
    CHECK(read(ends[0], &byte, 1) == 0);
    close(ends[0]);
}

TEST_CASE("in a terminal the line is drawn, as wide as the terminal is") {
    int master = -1;
    int slave = -1;
    winsize size{.ws_row = 24, .ws_col = 50, .ws_xpixel = 0, .ws_ypixel = 0};
    REQUIRE(openpty(&master, &slave, nullptr, nullptr, &size) == 0);
    const char* const term = std::getenv("TERM");
    const std::string before = term == nullptr ? "" : term;
    setenv("TERM", "xterm", 1);
    std::atomic<bool> fails{false};
    {
        sg::ProgressBar bar({.fd = slave, .redraw_every = 0ms});
        fan(8, fails).compile().invoke(Update{}, {.observer = &bar});
    }
    setenv("TERM", "dumb", 1);
    {
        sg::ProgressBar bar({.fd = slave});
        fan(8, fails).compile().invoke(Update{}, {.observer = &bar});
    }
    if (term == nullptr) {
        unsetenv("TERM");
    } else {
        setenv("TERM", before.c_str(), 1);
    }
    const std::string end_mark = "THE END\n";
    REQUIRE(write(slave, end_mark.data(), end_mark.size()) == static_cast<ssize_t>(end_mark.size()));
    std::string text;
    char some[256];
    while (!contains(text, "THE END")) {
        const ssize_t got = read(master, some, sizeof some);
        REQUIRE(got > 0);
        text.append(some, static_cast<std::size_t>(got));
    }
    close(slave);
    close(master);
    CHECK(contains(text, "\rsuperstep 2 ["));
    CHECK(contains(text, " 8/8 "));
    CHECK(countOf(text, "done: 3 supersteps, 10 tasks") == 1);  // the dumb one is quiet
    CHECK(text.ends_with("THE END\r\n"));
    for (std::size_t at = text.find('\r'); at != std::string::npos; at = text.find('\r', at + 1)) {
        const std::size_t erase = text.find("\x1b[K", at);
        if (erase == std::string::npos) break;
        if (text.compare(at + 1, 9, "superstep") == 0) CHECK(erase - at - 1 <= 49);
    }
}

TEST_CASE("it is redrawn no oftener than it may be") {
    std::atomic<bool> fails{false};
    std::ostringstream out;
    sg::ProgressBar bar({.style = sg::ProgressStyle::line, .out = &out, .redraw_every = std::chrono::hours(1)});
    fan(500, fails).compile().invoke(Update{}, {.observer = &bar});
    CHECK(countOf(out.str(), "\r") == 2);  // the first drawing, and the end
}

TEST_CASE(
    "of several runs at once, and of those in subgraphs, the widest superstep is shown and each run has its end") {
    std::atomic<bool> fails{false};
    Graph graph;
    graph.addNode("sub", fan(30, fails).compile()).addEdge(sg::START, "sub");
    const App app = graph.compile();
    std::ostringstream out;
    {
        sg::ProgressBar bar({.style = sg::ProgressStyle::line, .out = &out, .width = 100, .redraw_every = 0ms});
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) threads.emplace_back([&] { app.invoke(Update{}, {.observer = &bar}); });
        for (auto& thread : threads) thread.join();
        CHECK(bar.failures() == 0);
    }
    CHECK(contains(out.str(), "/30"));
    CHECK(countOf(out.str(), "done: 1 superstep, 33 tasks") == 4);
    CHECK(countOf(out.str(), "\n") == 4);
}

TEST_CASE("a stream that fails, or a descriptor that is closed, harms no run") {
    struct Broken final : std::streambuf {
        int overflow(int) override { throw std::runtime_error("broken"); }
        std::streamsize xsputn(const char*, std::streamsize) override { throw std::runtime_error("broken"); }
    } broken;
    std::ostream out(&broken);
    out.exceptions(std::ios::badbit | std::ios::failbit);
    std::atomic<bool> fails{false};
    {
        sg::ProgressBar bar({.style = sg::ProgressStyle::line, .out = &out, .redraw_every = 0ms});
        CHECK(fan(3, fails).compile().invoke(Update{}, {.observer = &bar}).values.n == 3);
    }
    {
        sg::ProgressBar bar({.style = sg::ProgressStyle::line, .fd = -1, .redraw_every = 0ms});
        CHECK(fan(3, fails).compile().invoke(Update{}, {.observer = &bar}).values.n == 3);
        CHECK(bar.failures() == 0);
    }
}

TEST_CASE("a bar that goes while its line is open ends the line") {
    std::ostringstream out;
    auto bar = std::make_unique<sg::ProgressBar>(
        sg::ProgressOptions{.style = sg::ProgressStyle::line, .out = &out, .redraw_every = 0ms});
    const sg::ObservedRun run{
        .run_id = 1, .parent_run_id = 0, .parent_task_id = {}, .thread_id = "t", .checkpoint_ns = ""};
    bar->superstepStarts({run, 1, 5, 0});
    bar->taskStarts({run, 1, "w", {}, 1});
    CHECK(contains(out.str(), "0/5"));
    bar.reset();
    CHECK(out.str().back() == '\n');
}

// bad input
TEST_CASE("options out of range are refused, and a label cannot move the cursor") {
    CHECK_THROWS_AS(sg::ProgressBar({.width = 5}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::ProgressBar({.width = -1}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::ProgressBar({.redraw_every = -1ms}), sg::InvalidArgumentError);
    std::ostringstream out;
    std::atomic<bool> fails{false};
    {
        sg::ProgressBar bar({.label = "a\x1b[2J\nb", .style = sg::ProgressStyle::plain, .out = &out});
        fan(1, fails).compile().invoke(Update{}, {.observer = &bar});
    }
    CHECK(out.str().starts_with("a?[2J?b done"));
}
