#include <doctest/doctest.h>

#include "tests/agent/tools.hpp"

using namespace tools;
using Texts = std::vector<std::string>;

namespace {

agent::Agent asking(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    agent::ToolOptions gated;
    gated.approval = true;
    const auto ledger = std::make_shared<Ledger>();
    return agent::Agent({.model = model::scripted(
                             {model::assistant({call("c1", "dig"), call("c2", "rake")}), model::assistant("done")}),
                         .tools = {work(ledger, "work", gated)},
                         .compile = saver ? stored(saver) : sg::CompileOptions{}});
}

Texts namesOf(const agent::WaitingPage& page) {
    Texts names;
    for (const agent::WaitingThread& thread : page.threads) names.push_back(thread.thread_id);
    return names;
}

}  // namespace

TEST_CASE("all threads that wait are listed in pages, with their open calls") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const agent::Agent helper = asking(saver);
    CHECK(helper.waiting().threads.empty());
    for (const char* thread : {"a", "b", "c", "d"}) (void)helper.say("go", {.thread_id = thread});
    for (const char* id : {"c1", "c2"})
        (void)helper.graph().invoke(helper.decide("b", id, {.approved = true}), {.thread_id = "b"});
    (void)helper.graph().invoke(helper.decide("c", "c1", {.approved = false}), {.thread_id = "c"});

    const agent::Agent other = asking(saver);  // as another process would make it
    const auto all = other.waiting();
    CHECK(namesOf(all) == Texts{"a", "c", "d"});
    CHECK_FALSE(all.next);
    REQUIRE(all.threads[1].calls.size() == 1);
    CHECK(all.threads[1].calls[0].provider_id == "c2");
    CHECK(all.threads[1].calls[0].id == other.openCalls("c")[0].id);
    CHECK(all.threads[0].calls.size() == 2);

    const auto first = other.waiting({.limit = 2});
    CHECK(namesOf(first) == Texts{"a", "c"});
    REQUIRE(first.next);
    const auto second = other.waiting({.after_thread_id = first.next, .limit = 2});
    CHECK(namesOf(second) == Texts{"d"});
    CHECK_FALSE(second.next);
}

TEST_CASE("a thread that waits inside of a sub-agent is listed, and one that waits for something else is not") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const agent::Agent outer(
        {.model = model::scripted(
             {model::assistant({{{}, "o1", "ask", R"({"request":"tidy up"})"}}), model::assistant("done")}),
         .tools = {agent::agentTool("ask", {}, asking(nullptr)),
                   agent::tool<Job>("poll", {},
                                    [](const Job&, agent::ToolContext& context) {
                                        return sg::interrupt<std::string>(context.runtime(), sg::Value("which?"));
                                    })},
         .compile = stored(saver)});
    (void)outer.say("go", {.thread_id = "t"});
    const agent::Agent polling({.model = model::scripted({model::assistant({call("p1", "dig", "poll")})}),
                                .tools = {agent::tool<Job>("poll", {},
                                                           [](const Job&, agent::ToolContext& context) {
                                                               return sg::interrupt<std::string>(context.runtime(),
                                                                                                 sg::Value("which?"));
                                                           })},
                                .compile = stored(saver)});
    CHECK((polling.say("go", {.thread_id = "s"}).status == sg::Status::interrupted));
    const auto page = outer.waiting({.limit = 1});
    REQUIRE(namesOf(page) == Texts{"t"});
    CHECK(page.threads[0].calls.size() == 2);
    CHECK(outer.waiting({.after_thread_id = page.next, .limit = 1}).threads.empty());
}

TEST_CASE("a list without a checkpointer, or of no threads, is refused") {
    const agent::Agent helper({.model = model::scripted({model::assistant("done")})});
    CHECK_THROWS_AS((void)helper.waiting(), sg::MissingCheckpointerError);
    CHECK_THROWS_AS((void)asking(std::make_shared<sg::MemorySaver>()).waiting({.limit = 0}), sg::InvalidArgumentError);
}
