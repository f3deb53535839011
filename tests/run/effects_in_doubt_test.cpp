#include <map>
#include <optional>

#include <doctest/doctest.h>

#include "tests/run/effects.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Effects for which it is unknown whether they happened.
using namespace graphs;
using namespace std::chrono_literals;
using namespace effects;

namespace {

void checkAsked(const sg::Result<State>& asked) {
    REQUIRE((asked.status == sg::Status::interrupted));
    REQUIRE(asked.interrupts.size() == 1);
    const std::string question = asked.interrupts[0].value.toJson();
    CHECK(question.find(R"("effect":"order")") != std::string::npos);
    CHECK(question.find("idempotency_key") != std::string::npos);
}

}  // namespace

TEST_CASE("in doubt an effect is repeated, if that is its policy") {
    Log log;
    bool dies = true;
    const App app = payer(std::make_shared<sg::MemorySaver>(), [&](const State&, sg::Runtime& rt) -> Update {
        rt.once("send", [&] {
            log.add("sent");
            if (dies) throw Killed{};
        });
        return {};
    });
    CHECK_THROWS(app.invoke(Update{}, T));
    dies = false;
    CHECK((app.invoke(sg::RESUME, T).status == sg::Status::done));
    CHECK(log.entries() == Strings{"sent", "sent"});
}

TEST_CASE("in doubt a check function finds out whether the effect happened") {
    for (const bool happened : {true, false}) {
        Log log;
        bool dies = true;
        const App app = payer(std::make_shared<sg::MemorySaver>(), [&](const State&, sg::Runtime& rt) -> Update {
            const int number = rt.once(
                "order",
                [&]() -> int {
                    log.add("ordered");
                    if (dies) throw Killed{};
                    return 7;
                },
                [&]() -> std::optional<int> {
                    log.add("checked");
                    return happened ? std::optional(41) : std::nullopt;
                });
            rt.once(
                // An effect without a result: the check returns a bool.
                "note", [&] { log.add("noted"); }, [] { return true; });
            return bar(std::to_string(number));
        });
        CHECK_THROWS(app.invoke(Update{}, T));
        CHECK(log.take() == Strings{"ordered"});  // the first time there is nothing to check
        dies = false;
        CHECK(app.invoke(sg::RESUME, T).values.bar == Strings{happened ? "41" : "7"});
        CHECK(log.take() == (happened ? Strings{"checked", "noted"} : Strings{"checked", "ordered", "noted"}));
    }
}

TEST_CASE("in doubt somebody is asked, and the answer is the result or to repeat it") {
    savers::onEach([](savers::Store& store) {
        Log log;
        bool dies = true;
        bool asks_first = false;
        const auto node = [&](const State&, sg::Runtime& rt) -> Update {
            // The node's own questions must not shift the question about the effect.
            const auto name = asks_first ? sg::interrupt<std::string>(rt, "name?") : std::string();
            const int number = rt.once(
                "order",
                [&]() -> int {
                    log.add("ordered");
                    if (dies) throw Killed{};
                    return 7;
                },
                sg::OnDoubt::ask);
            return bar(name + std::to_string(number));
        };
        const App app = payer(store.open(), node);
        const auto doubt = [&](const char* thread) {
            dies = true;
            CHECK_THROWS(app.invoke(Update{}, {.thread_id = thread}));
            dies = false;
            checkAsked(app.invoke(sg::RESUME, {.thread_id = thread}));
            log.take();
        };
        using Answer = std::map<std::string, int>;
        {
            doubt("happened");
            CHECK(app.invoke(sg::Command<>{.resume = Answer{{"result", 41}}}, {.thread_id = "happened"}).values.bar ==
                  Strings{"41"});
            CHECK(log.entries().empty());
        }
        {
            doubt("repeat");
            CHECK(app.invoke(sg::Command<>{.resume = "repeat"}, {.thread_id = "repeat"}).values.bar == Strings{"7"});
            CHECK(log.take() == Strings{"ordered"});
        }
        {
            // The answer "repeat" is valid once: if the process dies again, the question is asked again.
            doubt("twice");
            dies = true;
            CHECK_THROWS(app.invoke(sg::Command<>{.resume = "repeat"}, {.thread_id = "twice"}));
            CHECK(log.take() == Strings{"ordered"});
            dies = false;
            CHECK((app.invoke(sg::RESUME, {.thread_id = "twice"}).status == sg::Status::interrupted));
            CHECK(app.invoke(sg::Command<>{.resume = "repeat"}, {.thread_id = "twice"}).values.bar == Strings{"7"});
        }
        {
            doubt("wrong");
            CHECK_THROWS_AS(app.invoke(sg::Command<>{.resume = "yes"}, {.thread_id = "wrong"}), sg::WrongTypeError);
            CHECK_THROWS_AS(app.invoke(sg::Command<>{.resume = std::map<std::string, std::string>{{"result", "x"}}},
                                       {.thread_id = "wrong"}),
                            sg::WrongTypeError);
            CHECK(app.getState({.thread_id = "wrong"}).interrupts().size() == 1);
            CHECK(app.invoke(sg::Command<>{.resume = Answer{{"result", 2}}}, {.thread_id = "wrong"}).values.bar ==
                  Strings{"2"});
        }
        {
            doubt("moved");
            asks_first = true;
            const auto open = app.getState({.thread_id = "moved"}).interrupts();
            const auto asked =
                app.invoke(sg::Command<>{.answers = {{open.at(0).id, Answer{{"result", 5}}}}}, {.thread_id = "moved"});
            REQUIRE((asked.status == sg::Status::interrupted));
            CHECK(app.invoke(sg::Command<>{.resume = "n"}, {.thread_id = "moved"}).values.bar == Strings{"n5"});
        }
    });
}
