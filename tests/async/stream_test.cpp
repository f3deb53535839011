#include <atomic>
#include <stdexcept>

#include "tests/async/support.hpp"
#include "tests/support/savers.hpp"

// Events that are awaited.
using namespace graphs;

namespace {

Graph talking() {
    return chainOf(
        [](const State&, sg::Runtime& runtime) -> Task<Update> {
            runtime.write("begun");
            co_await sg::sleepFor(2ms);
            runtime.write("waited");
            co_return {sg::add(&State::bar, "a")};
        },
        [](const State&, sg::Runtime& runtime) -> Update {
            runtime.write("blocking");
            return {sg::add(&State::bar, "b")};
        });
}

template <class Events>
Task<Strings> textsOf(Events& events) {
    Strings texts;
    for (;;) {
        auto event = co_await events.next();
        if (!event) break;
        texts.push_back(sg::toJson(*event));
    }
    co_return texts;
}

Strings blockingTexts(const App& app, const sg::StreamOptions& options, const sg::RunConfig& config = {}) {
    Strings texts;
    for (const auto& event : app.stream(Update{}, config, options)) texts.push_back(sg::toJson(event));
    return texts;
}

}  // namespace

TEST_CASE("awaited events are those of a stream that blocks") {
    const auto app = talking().compile();
    using enum sg::StreamMode;
    for (const auto mode : {values, updates, tasks, custom}) {
        const sg::StreamOptions options{.modes = mode};
        auto events = app.asyncStream(Update{}, {}, options);
        CHECK(sg::syncWait(textsOf(events)) == blockingTexts(app, options));
        CHECK((events.outcome().status == sg::Status::done));
        CHECK_FALSE(sg::syncWait(events.next()).has_value());
    }
    Graph outer;
    outer.addNode("inner", app).addEdge(sg::START, "inner");
    const auto around = outer.compile();
    const sg::StreamOptions all{.modes = {values, updates, custom}, .subgraphs = true};
    auto events = around.asyncStream(Update{}, {}, all);
    auto texts = sg::syncWait(textsOf(events));
    CHECK(texts.size() == blockingTexts(around, all).size());
}

TEST_CASE("an event that a node wrote comes while the node waits") {
    std::atomic<bool> go = false;
    const auto app = chainOf([&go](const State&, sg::Runtime& runtime) -> Task<Update> {
                         runtime.write("waiting");
                         while (!go) co_await sg::sleepFor(1ms);
                         co_return bar("done");
                     }).compile();
    auto events = app.asyncStream(Update{}, {}, {.modes = sg::StreamMode::custom});
    const auto first = sg::syncWait(events.next());
    REQUIRE(first.has_value());
    CHECK(first->data.as<std::string>() == "waiting");
    go = true;
    CHECK_FALSE(sg::syncWait(events.next()).has_value());
}

TEST_CASE("a part of a message comes while the node waits") {
    std::atomic<bool> go = false;
    const auto app = chainOf([&go](const State&, sg::Runtime& runtime) -> Task<Update> {
                         runtime.emitMessage("Hel");
                         while (!go) co_await sg::sleepFor(1ms);
                         runtime.emitMessage("lo");
                         co_return bar("done");
                     }).compile();
    auto events = app.asyncStream(Update{}, {}, {.modes = sg::StreamMode::messages});
    CHECK(sg::syncWait(events.next()).has_value());
    go = true;
    CHECK(sg::syncWait(events.next()).has_value());
    CHECK_FALSE(sg::syncWait(events.next()).has_value());
}

TEST_CASE("what the run fails with comes after its events") {
    const auto app = chainOf(appendsLater("a"), [](const State&) -> Task<Update> {
                         co_await sg::sleepFor(1ms);
                         throw std::runtime_error("broken");
                     }).compile();
    auto events = app.asyncStream(Update{}, {}, {.modes = sg::StreamMode::updates});
    CHECK(sg::syncWait(events.next()).has_value());
    CHECK_THROWS_AS(sg::syncWait(events.next()), sg::NodeError);
    CHECK_FALSE(sg::syncWait(events.next()).has_value());
}

TEST_CASE("a reader that stops reading stops the run, and the thread continues from there") {
    savers::onEachAndLater([](savers::Store& store) {
        const auto app =
            chainOf(appendsLater("a"), appendsLater("b"), appendsLater("c")).compile({.checkpointer = store.open()});
        {
            auto events = app.asyncStream(Update{}, {.thread_id = "t"}, {.modes = sg::StreamMode::updates});
            CHECK(sg::syncWait(events.next()).has_value());
        }
        CHECK(app.getState({.thread_id = "t"}).values.bar.size() < 3);
        CHECK(sg::syncWait(app.asyncInvoke(sg::RESUME, {.thread_id = "t"})).values.bar == Strings{"a", "b", "c"});
    });
}

TEST_CASE("a reader that is too late is the failure of the node that writes") {
    const auto app = chainOf([](const State&, sg::Runtime& runtime) -> Task<Update> {
                         for (int i = 0; i < 70'000; ++i) runtime.write(i);
                         co_return Update{};
                     }).compile();
    auto events = app.asyncStream(Update{}, {}, {.modes = sg::StreamMode::custom});
    CHECK_THROWS_WITH_AS(sg::syncWait(textsOf(events)), doctest::Contains("has not read 65536 events"), sg::NodeError);
}
