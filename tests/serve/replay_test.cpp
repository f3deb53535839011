#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/json.hpp>

#include "serve/replay.hpp"

using stategraph::serve::Replay;
namespace json = boost::json;

namespace {

struct Quiet final : Replay::Reader {
    int waked = 0;
    void wake() noexcept override { ++waked; }
};

std::string delta(const std::string& text, const std::string& id = "text-1") {
    return json::serialize(json::object{{"type", "text-delta"}, {"id", id}, {"delta", text}});
}

std::shared_ptr<std::atomic<std::size_t>> counter() { return std::make_shared<std::atomic<std::size_t>>(0); }

/// The joined text of all deltas of a reader.
std::string said(const std::vector<std::string>& lines) {
    std::string all;
    for (const std::string& line : lines) {
        const json::value part = json::parse(line);
        if (part.at("type") == "text-delta") all += part.at("delta").as_string();
    }
    return all;
}

}  // namespace

TEST_CASE("a replay joins the pieces of a text, and a reader at any place gets the rest of it") {
    const auto all = counter();
    Replay replay({}, all);
    const auto reader = std::make_shared<Quiet>();
    const std::vector<std::string> pieces{"a \"quoted\" ", "line\n", "\\", "\xc3\xb6", ",\"delta\":\"", "end"};
    std::vector<Replay::Place> places;
    std::vector<std::vector<std::string>> got(pieces.size() + 1);
    std::string whole;
    replay.add(R"({"type":"start"})");
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        places.push_back(replay.join(reader));
        for (std::size_t j = 0; j < places.size(); ++j) replay.read(places[j], 1000, got[j]);
        replay.add(delta(pieces[i]));
        whole += pieces[i];
    }
    places.push_back(replay.join(reader));
    replay.add(R"({"type":"text-end","id":"text-1"})");
    replay.end();
    for (std::size_t j = 0; j < places.size(); ++j) {
        CAPTURE(j);
        CHECK(replay.read(places[j], 1000, got[j]) == Replay::State::ended);
        CHECK(said(got[j]) == whole);
        CHECK(got[j].front() == R"({"type":"start"})");
        CHECK(got[j].back() == R"({"type":"text-end","id":"text-1"})");
    }
    // A reader that connects last receives one piece.
    CHECK(got.back().size() == 3);
    CHECK(reader->waked > 0);
}

TEST_CASE("pieces of texts with other ids stay apart, and empty ones say nothing") {
    Replay replay({}, counter());
    const auto reader = std::make_shared<Quiet>();
    replay.add(delta("", "a"));
    replay.add(delta("1", "a"));
    replay.add(delta("2", "b"));
    replay.add(delta("3", "a"));
    replay.end();
    Replay::Place place = replay.join(reader);
    std::vector<std::string> lines;
    CHECK(replay.read(place, 1000, lines) == Replay::State::ended);
    CHECK(lines == std::vector<std::string>{delta("1", "a"), delta("2", "b"), delta("3", "a")});
}

TEST_CASE("a replay is read in batches, each part once") {
    Replay replay({}, counter());
    const auto reader = std::make_shared<Quiet>();
    std::string whole;
    for (int i = 0; i < 1000; ++i) {
        const std::string text = std::to_string(i) + std::string(100, 'x');
        replay.add(delta(text));
        whole += text;
    }
    Replay::Place place = replay.join(reader);
    std::vector<std::string> lines;
    int batches = 0;
    for (std::size_t before = 1; before != lines.size(); ++batches) {
        before = lines.size();
        CHECK(replay.read(place, 1, lines) == Replay::State::open);
    }
    CHECK(batches > 3);
    CHECK(said(lines) == whole);
}

TEST_CASE("a replay that would take too much ends, and what all take is counted back") {
    const auto all = counter();
    {
        Replay replay({.bytes = 10'000}, all);
        const auto reader = std::make_shared<Quiet>();
        Replay::Place place = replay.join(reader);
        for (int i = 0; i < 2000; ++i) replay.add(delta("0123456789"));
        std::vector<std::string> lines;
        Replay::State state = Replay::State::open;
        for (int i = 0; i < 100 && state == Replay::State::open; ++i) state = replay.read(place, 1000, lines);
        CHECK(state == Replay::State::too_long);
        CHECK(replay.state() == Replay::State::too_long);
        CHECK(replay.bytes() <= 10'000);
        CHECK(*all == replay.bytes());
        Replay other({.bytes_of_all = replay.bytes() + 10}, all);
        other.add(delta("0123456789"));
        CHECK(other.state() == Replay::State::too_long);
        CHECK(*all == replay.bytes());
    }
    CHECK(*all == 0);
}

TEST_CASE("a response that could not be recorded is not called too long") {
    Replay replay({}, counter());
    replay.end(Replay::State::failed);
    CHECK(replay.state() == Replay::State::failed);
    const std::string reason = Replay::reasonOf(replay.state());
    CHECK(reason.find("could not keep") != std::string::npos);
    CHECK(reason.find("longer") == std::string::npos);
    CHECK(Replay::reasonOf(Replay::State::ended) == nullptr);
}

TEST_CASE("nothing is read of a replay that is held") {
    Replay replay({}, counter());
    replay.hold();
    replay.add(delta("a word"));
    Replay::Place place;
    std::vector<std::string> lines;
    CHECK(replay.read(place, 1000, lines) == Replay::State::held);
    CHECK(lines.empty());
    replay.release();
    CHECK(replay.read(place, 1000, lines) == Replay::State::open);
    CHECK(lines.size() == 1);
    replay.end();
    replay.end(Replay::State::not_begun);
    replay.release();
    CHECK(replay.state() == Replay::State::ended);
}

TEST_CASE("transient parts are for the readers that are connected, and the oldest go") {
    const auto all = counter();
    Replay replay({.transient_parts = 3}, all);
    const auto reader = std::make_shared<Quiet>();
    Replay::Place early = replay.join(reader);
    const auto note = [](int i) {
        return json::serialize(json::object{{"type", "data-custom"}, {"data", i}, {"transient", true}});
    };
    for (int i = 0; i < 5; ++i) replay.add(note(i));
    Replay::Place late = replay.join(reader);
    replay.add(note(5));
    replay.end();
    std::vector<std::string> of_early, of_late;
    CHECK(replay.read(early, 1000, of_early) == Replay::State::ended);
    CHECK(replay.read(late, 1000, of_late) == Replay::State::ended);
    CHECK(of_early == std::vector<std::string>{note(3), note(4), note(5)});
    CHECK(of_late == std::vector<std::string>{note(5)});
}

TEST_CASE("readers on other threads get all parts of a replay that grows") {
    Replay replay({}, counter());
    std::string whole;
    for (int i = 0; i < 5000; ++i) whole += std::to_string(i % 10);
    std::vector<std::string> got(3);
    std::vector<std::thread> threads;
    for (std::string& each : got) {
        threads.emplace_back([&replay, &each] {
            struct Silent final : Replay::Reader {
                void wake() noexcept override {}
            };
            Replay::Place place = replay.join(std::make_shared<Silent>());
            std::vector<std::string> lines;
            while (replay.read(place, 1000, lines) == Replay::State::open) std::this_thread::yield();
            each = said(lines);
        });
    }
    for (const char c : whole) replay.add(delta(std::string(1, c)));
    replay.end();
    for (std::thread& thread : threads) thread.join();
    for (const std::string& each : got) CHECK(each == whole);
}
