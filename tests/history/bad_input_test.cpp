#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// Invalid calls and calls for what does not exist: they check the error's type and text, and that the thread is
// unchanged.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};

/// A thread that stopped before b, and a check that calls leave it unchanged.
class Fixture {
public:
    explicit Fixture(const SharedSaver& saver)
        : app(chainOf({"a", "b"}).compile({.checkpointer = saver, .interrupt_before = {"b"}})), saver_(saver) {
        app.invoke(says("i"), {.thread_id = "t"});
        before_ = bytesOf(*saver_);
    }
    /// Checks that `call` throws an E which mentions all of `parts`, and changes nothing.
    template <class E, class F>
    void refuses(F call, const Words& parts) {
        CHECK(mentions(errorOf<E>(call), parts));
        CHECK(bytesOf(*saver_) == before_);
    }

    LineApp app;

private:
    SharedSaver saver_;
    Bytes before_;
};

}  // namespace

TEST_CASE("limits below 1 are refused, with the limit's name and value") {
    onBothSavers([](const SharedSaver& saver) {
        Fixture f(saver);
        for (const int n : {0, -1}) {
            const std::string value = std::to_string(n);
            f.refuses<sg::InvalidArgumentError>(
                [&] { return f.app.invoke(sg::RESUME, {.thread_id = "t", .recursion_limit = n}); },
                {"recursion_limit", value, "'t'"});
            f.refuses<sg::InvalidArgumentError>(
                [&] { return f.app.invoke(says("x"), {.thread_id = "t", .max_concurrency = n}); },
                {"max_concurrency", value});
        }
        f.refuses<sg::InvalidArgumentError>([&] { return historyOf(f.app, T, {.limit = 0}); }, {"limit", "at least 1"});
    });
}

TEST_CASE("an empty thread id is refused by every call that needs one") {
    onBothSavers([](const SharedSaver& saver) {
        Fixture f(saver);
        f.refuses<sg::InvalidArgumentError>([&] { return f.app.invoke(says("x"), {}); }, {"thread_id"});
        f.refuses<sg::InvalidArgumentError>([&] { return f.app.invoke(sg::RESUME, {}); }, {"thread_id"});
        f.refuses<sg::InvalidArgumentError>([&] { return f.app.getState({}); }, {"thread_id"});
        f.refuses<sg::InvalidArgumentError>([&] { return historyOf(f.app, {}); }, {"thread_id"});
        f.refuses<sg::InvalidArgumentError>([&] { return f.app.updateState({}, says("x")); }, {"thread_id"});
        CHECK_THROWS_AS(sg::ThreadId(std::string(120, 'x')), sg::InvalidArgumentError);
    });
}

TEST_CASE("a graph without a saver has no state to read, edit, travel in or answer") {
    const LineApp app = chainOf({"a"}).compile();
    const std::string id = "01900000-0000-7000-8000-000000000001";
    CHECK(mentions(errorOf<sg::MissingCheckpointerError>([&] { return app.getState(T); }), {"checkpointer", "'t'"}));
    CHECK(mentions(errorOf<sg::MissingCheckpointerError>([&] { return historyOf(app, T); }), {"checkpointer"}));
    CHECK(mentions(errorOf<sg::MissingCheckpointerError>([&] { return app.updateState(T, says("x")); }),
                   {"checkpointer"}));
    CHECK(mentions(errorOf<sg::MissingCheckpointerError>(
                       [&] { return app.invoke(says("x"), {.thread_id = "t", .checkpoint_id = id}); }),
                   {"checkpoint_id", id}));
    errorOf<sg::MissingCheckpointerError>([&] { return app.invoke(sg::Command<>{.resume = "x"}, {.thread_id = "t"}); });
    CHECK(app.invoke(says("x"), {}).values.v == Words{"x", "a"});
}

TEST_CASE("a checkpoint that does not exist is refused by reading and editing too") {
    onBothSavers([](const SharedSaver& saver) {
        Fixture f(saver);
        const std::string id = "01900000-0000-7000-8000-000000000001";
        for (const char* thread : {"t", "new"}) {
            const sg::Config config{.thread_id = thread, .checkpoint_id = id};
            const Words parts{id, "'" + std::string(thread) + "'"};
            f.refuses<sg::InvalidArgumentError>([&] { return f.app.getState(config); }, parts);
            f.refuses<sg::InvalidArgumentError>([&] { return historyOf(f.app, config); }, parts);
            f.refuses<sg::InvalidArgumentError>([&] { return f.app.updateState(config, says("x"), {.as_node = "a"}); },
                                                parts);
        }
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([] { return sg::CheckpointId("no-id"); }), {"no-id"}));
    });
}

TEST_CASE("there must be something to do") {
    onBothSavers([](const SharedSaver& saver) {
        Fixture f(saver);
        f.refuses<sg::EmptyInputError>([&] { return f.app.invoke(sg::RESUME, {.thread_id = "new"}); },
                                       {"'new'", "input"});
        // quirk 4
        f.refuses<sg::EmptyInputError>([&] { return f.app.invoke(sg::Command<Line>(), {.thread_id = "t"}); },
                                       {"Command"});
    });
}

TEST_CASE("an answer where nothing was asked is refused, on a fresh thread too") {
    onBothSavers([](const SharedSaver& saver) {
        Fixture f(saver);
        f.refuses<sg::InvalidArgumentError>(
            [&] { return f.app.invoke(sg::Command<>{.resume = "x"}, {.thread_id = "t"}); },
            {"no open interrupt", "'t'"});
        // quirk 45
        f.refuses<sg::InvalidArgumentError>(
            [&] { return f.app.invoke(sg::Command<>{.resume = "x"}, {.thread_id = "new"}); },
            {"no open interrupt", "'new'"});
    });
}

TEST_CASE("nodes that do not exist are refused where a Command, an edit or a breakpoint names them") {
    onBothSavers([](const SharedSaver& saver) {
        Fixture f(saver);
        f.refuses<sg::InvalidUpdateError>(
            [&] { return f.app.invoke(sg::Command<Line>{.go_to = {"nobody"}}, {.thread_id = "t"}); }, {"'nobody'"});
        f.refuses<sg::InvalidUpdateError>(
            [&] { return f.app.invoke(sg::Command<Line>{.go_to = {sg::Send("nobody", 1)}}, {.thread_id = "t"}); },
            {"'nobody'"});
        f.refuses<sg::InvalidUpdateError>([&] { return f.app.updateState(T, says("x"), {.as_node = "nobody"}); },
                                          {"'nobody'"});
        f.refuses<sg::InvalidArgumentError>(
            [&] { return f.app.invoke(says("x"), {.thread_id = "t", .interrupt_before = {"nobody"}}); },
            {"'nobody'", "interrupt_before"});
        f.refuses<sg::InvalidArgumentError>(
            [&] { return f.app.invoke(says("x"), {.thread_id = "t", .interrupt_after = {"nobody"}}); },
            {"'nobody'", "interrupt_after"});
    });
}

TEST_CASE("metadata under taken, empty or repeated keys is refused") {
    onBothSavers([](const SharedSaver& saver) {
        Fixture f(saver);
        for (const char* key : {"source", "step", "parents", ""}) {
            f.refuses<sg::InvalidArgumentError>(
                [&] {
                    return f.app.invoke(says("x"), {.thread_id = "t", .metadata = {{key, 1}}});
                },
                {"metadata", key});
        }
        f.refuses<sg::InvalidArgumentError>(
            [&] {
                return f.app.invoke(says("x"), {.thread_id = "t", .metadata = {{"k", 1}, {"k", 2}}});
            },
            {"'k'", "twice"});
    });
}

TEST_CASE("input to a finished thread is allowed: it begins again with what is there") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = chainOf({"a"}).compile({.checkpointer = saver});
        app.invoke(says("i"), {.thread_id = "t"});
        CHECK(app.invoke(says("j"), {.thread_id = "t"}).values.v == Words{"i", "a", "j", "a"});
    });
}
