#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <stategraph/delete_thread.hpp>

#include "tests/agent/echo.hpp"
#include "tests/support/door.hpp"

// What becomes of messages that wait: deleted threads, branches and copies, ids that the conversation has.
using namespace echoes;
using agent::WhileRunning;

namespace {

/// A saver that calls a function once: when it has read the thread with the messages of "t", before it writes it, and
/// when it has read "t".
class Watched final : public Door {
public:
    explicit Watched(std::shared_ptr<sg::BaseCheckpointSaver> store) : Door(store), store_(std::move(store)) {}

    std::function<void()> at_read = {};
    std::function<void(sg::BaseCheckpointSaver& store)> at_put = {};
    std::function<void()> at_thread_read = {};

    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
        auto found = Door::getTuple(query);
        if (query.log.thread_id == "inbox t" && at_read) std::exchange(at_read, nullptr)();
        if (query.log.thread_id == "t" && at_thread_read) std::exchange(at_thread_read, nullptr)();
        return found;
    }
    void put(const sg::PutRequest& request) override {
        if (request.log.thread_id == "inbox t" && at_put) std::exchange(at_put, nullptr)(*store_);
        Door::put(request);
    }

private:
    std::shared_ptr<sg::BaseCheckpointSaver> store_;
};

model::Message named(std::string id, std::string text) {
    model::Message message = model::user(std::move(text));
    message.id = std::move(id);
    return message;
}

bool isThere(sg::BaseCheckpointSaver& saver, const std::string& thread) {
    return saver.getTuple({.log = {.thread_id = thread}}).has_value();
}

}  // namespace

TEST_CASE("a message that waits is seen by everybody while it is read") {
    Echo echo;
    const auto saver = std::make_shared<Watched>(echo.saver);
    echo.saver = saver;
    const agent::Agent helper = echo.open();
    helper.send("t", "late", WhileRunning::enqueue);
    bool is_seen = false;
    saver->at_read = [&] { is_seen = helper.hasSent("t"); };
    CHECK(helper.hasSent("t"));
    CHECK(is_seen);
}

TEST_CASE("a message that is sent while a look finds none is found by the next look") {
    Echo echo;
    const auto saver = std::make_shared<Watched>(echo.saver);
    echo.saver = saver;
    const agent::Agent helper = echo.open();
    helper.say("hello", {.thread_id = "t"});
    const agent::Agent same = echo.open();
    saver->at_read = [&] { same.send("t", "late", WhileRunning::enqueue); };
    CHECK(!same.hasSent("t"));
    CHECK(same.hasSent("t"));
}

TEST_CASE("the thread that keeps messages stays as small as what waits, however many were sent") {
    Echo echo;
    const agent::Agent helper = echo.open();
    helper.say("hello", {.thread_id = "t"});
    for (int i = 0; i < 80; ++i) {
        helper.send("t", "late " + std::to_string(i), WhileRunning::enqueue);
        CAPTURE(i);
        CHECK(echo.saver->list({.thread_id = "inbox t"}).size() <= 33);
        if (i % 7 == 6) helper.say("go on", {.thread_id = "t"});
    }
    const auto last = helper.say("end", {.thread_id = "t"});
    const Texts all = told(last.values.messages);
    for (int i = 0; i < 80; ++i) CHECK(std::ranges::count(all, "user:late " + std::to_string(i)) == 1);
}

TEST_CASE("a deleted thread takes the messages that wait for it along") {
    Echo echo;
    const agent::Agent helper = echo.open();
    for (const bool is_agents : {true, false}) {
        CAPTURE(is_agents);
        helper.say("hello", {.thread_id = "t"});
        helper.send("t", "late", WhileRunning::enqueue);
        REQUIRE(isThere(*echo.saver, "inbox t"));
        if (is_agents)
            helper.deleteThread("t");
        else
            sg::deleteWholeThread(*echo.saver, "t");
        CHECK(!isThere(*echo.saver, "t"));
        CHECK(!isThere(*echo.saver, "inbox t"));
        CHECK(!helper.hasSent("t"));
        const auto anew = helper.say("again", {.thread_id = "t"});
        CHECK(told(anew.values.messages) == Texts{"user:again", "model:echo of again"});
    }
    helper.deleteThread("nobody");
    helper.deleteThread(std::string(sg::ThreadId::size_max, 't'));
    const agent::Agent alone({.model = model::scripted({model::assistant("x")})});
    CHECK_THROWS_AS(alone.deleteThread("t"), sg::MissingCheckpointerError);
}

TEST_CASE("a message that is sent while its thread is deleted is refused, and not kept") {
    Echo echo;
    const auto saver = std::make_shared<Watched>(echo.saver);
    echo.saver = saver;
    const agent::Agent helper = echo.open();
    helper.say("hello", {.thread_id = "t"});
    saver->at_put = [](sg::BaseCheckpointSaver& store) { sg::deleteWholeThread(store, "t"); };
    CHECK_THROWS_WITH_AS(helper.send("t", "late", WhileRunning::enqueue), doctest::Contains("deleted"),
                         sg::InvalidArgumentError);
    CHECK(!isThere(*saver, "inbox t"));
    CHECK(told(helper.say("again", {.thread_id = "t"}).values.messages) == Texts{"user:again", "model:echo of again"});
}

TEST_CASE("a message that is refused takes along no other that was sent meanwhile") {
    Echo echo;
    const agent::Agent other = echo.open();
    const auto saver = std::make_shared<Watched>(echo.saver);
    echo.saver = saver;
    const agent::Agent helper = echo.open();
    helper.say("hello", {.thread_id = "t"});
    saver->at_put = [&](sg::BaseCheckpointSaver& store) {
        sg::deleteWholeThread(store, "t");
        saver->at_thread_read = [&] { other.send("t", "other", WhileRunning::enqueue); };
    };
    CHECK_THROWS_WITH_AS(helper.send("t", "late", WhileRunning::enqueue), doctest::Contains("deleted"),
                         sg::InvalidArgumentError);
    CHECK(!saver->at_thread_read);
    CHECK(told(helper.say("again", {.thread_id = "t"}).values.messages) ==
          Texts{"user:again", "user:other", "model:echo of other"});
    other.send("t", "more", WhileRunning::enqueue);
    CHECK(told(helper.say("and", {.thread_id = "t"}).values.messages).back() == "model:echo of more");
}

TEST_CASE("what another process has sent is removed when the run that took it is stored") {
    Echo echo;
    const agent::Agent helper = echo.open();
    const agent::Agent other = echo.open();
    helper.say("one", {.thread_id = "t", .durability = sg::Durability::sync});
    const sg::Config before = helper.graph().getState({.thread_id = "t"}).config;
    CHECK(!helper.hasSent("t"));
    other.send("t", "late", WhileRunning::enqueue);
    const auto ended = helper.say("two", {.thread_id = "t", .durability = sg::Durability::sync});
    CHECK(told(ended.values.messages).back() == "model:echo of late");
    const auto branch =
        other.graph().invoke(agent::said("three"), {.thread_id = "t", .checkpoint_id = before.checkpoint_id});
    CHECK(told(branch.values.messages) == Texts{"user:one", "model:echo of one", "user:three", "model:echo of three"});
}

TEST_CASE("a look at what waits succeeds although messages that were taken cannot be removed") {
    Echo echo;
    const auto saver = std::make_shared<Watched>(echo.saver);
    echo.saver = saver;
    const agent::Agent helper = echo.open();
    helper.send("t", "late", WhileRunning::enqueue);
    helper.say("hello", {.thread_id = "t", .durability = sg::Durability::exit});
    saver->at_put = [](sg::BaseCheckpointSaver&) { throw std::runtime_error("the disk is full"); };
    CHECK(!helper.hasSent("t"));
    CHECK(!saver->at_put);
    CHECK(!helper.hasSent("t"));
}

TEST_CASE("a run from an earlier checkpoint, and a copy, take no message that the thread has taken") {
    for (const auto how : {WhileRunning::steer, WhileRunning::enqueue}) {
        for (const auto durability : {sg::Durability::sync, sg::Durability::async}) {
            Echo echo;
            int sent = 0;
            echo.meanwhile = [&](const agent::Agent& agent) {
                if (sent++ == 0) agent.send("t", "wait", how);
            };
            const agent::Agent helper = echo.open();
            helper.say("work", {.thread_id = "t", .durability = durability});
            sg::Config before;
            for (const auto& at : helper.graph().getStateHistory({.thread_id = "t"})) {
                if (at.values.messages.size() == 1) before = at.config;
            }
            REQUIRE(!before.checkpoint_id.empty());
            CHECK(helper.graph().getState({.thread_id = "t"}).values.taken == 1);
            echo.saver->copyThread("t", "t2");
            const auto branch = helper.graph().invoke(
                sg::RESUME, {.thread_id = "t", .checkpoint_id = before.checkpoint_id, .durability = durability});
            CHECK(told(branch.values.messages) ==
                  Texts{"user:work", "model:[work]", "tool:did work", "model:echo of did work"});
            const auto copy = helper.say("hello", {.thread_id = "t2"});
            CHECK(told(copy.values.messages).back() == "model:echo of hello");
            CHECK(copy.values.messages.size() == (how == WhileRunning::steer ? 7 : 8));
        }
    }
}

TEST_CASE("a message whose id the conversation has is the same message, and no run takes it") {
    Echo echo;
    echo.meanwhile = [&](const agent::Agent& agent) { agent.send("t", named("m1", "work"), WhileRunning::enqueue); };
    const agent::Agent helper = echo.open();
    const auto ended = helper.graph().invoke(agent::said({named("m1", "work")}), {.thread_id = "t"});
    CHECK(told(ended.values.messages) == Texts{"user:work", "model:[work]", "tool:did work", "model:echo of did work"});
    // It waits before the conversation has it.
    helper.send("u", named("m1", "hello"), WhileRunning::enqueue);
    const auto other = helper.graph().invoke(agent::said({named("m1", "hello")}), {.thread_id = "u"});
    CHECK(told(other.values.messages) == Texts{"user:hello", "model:echo of hello"});
    CHECK(other.values.taken == 1);
    CHECK(!helper.hasSent("u"));
}

TEST_CASE("an agent inside a graph says that it takes no messages, and where to send them") {
    const agent::Agent inner({.model = model::scripted({model::assistant("x")})});
    CHECK_THROWS_WITH_AS(inner.send("t", "x", WhileRunning::steer), doctest::Contains("inside a graph"),
                         sg::MissingCheckpointerError);
}
