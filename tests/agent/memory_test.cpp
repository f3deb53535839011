#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/memory.hpp>
#include <stategraph/error.hpp>
#include <stategraph/memory_store.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/manual_clock.hpp"

using namespace tools;

namespace {

using Strings = std::vector<std::string>;

/// Vectors of the counts of a few words.
std::vector<std::vector<float>> embed(std::span<const std::string> texts) {
    std::vector<std::vector<float>> vectors;
    for (const std::string& text : texts) {
        std::vector<float> vector;
        for (const char* const word : {"cat", "rain", "tea"})
            vector.push_back(text.find(word) != std::string::npos ? 1.0F : 0.01F);
        vectors.push_back(vector);
    }
    return vectors;
}

std::shared_ptr<sg::MemoryStore> meaningStore() {
    sg::StoreOptions options;
    options.index = sg::IndexConfig{.dims = 3, .embed = embed, .fields = {"text"}};
    return std::make_shared<sg::MemoryStore>(options);
}

/// An agent whose model calls these tools in its first round, and whose instructions are noted. Users are the contexts
/// of runs.
struct Remembering {
    explicit Remembering(agent::MemoryOptions options = {}) {
        options.user = [](sg::Runtime& runtime) { return runtime.context<std::string>(); };
        memory = agent::memory(std::move(options));
    }
    agent::State say(const std::string& user, const std::string& text, std::vector<model::ToolCall> calls = {},
                     const char* thread = "t") {
        const auto answers = model::scripted([&](const model::Request& request) {
            instructions.emplace_back(request.instructions);
            const bool is_first = request.messages.back().role == model::Role::user;
            return is_first && !calls.empty() ? model::assistant(calls) : model::assistant("ok");
        });
        const agent::Agent helper({.model = answers,
                                   .instructions = "Help.",
                                   .tools = memory.tools,
                                   .middleware = {memory.recall},
                                   .compile = {.checkpointer = saver, .store = store}});
        return helper.say(text, {.thread_id = thread, .context = sg::RunContext(user)}).values;
    }
    /// The result of the n-th message from the end.
    static std::string resultOf(const agent::State& state, std::size_t from_end = 1) {
        return state.messages.at(state.messages.size() - 1 - from_end).result->text();
    }

    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    std::shared_ptr<sg::MemoryStore> store = meaningStore();
    agent::Memory memory;
    Strings instructions;
};

model::ToolCall calls(const char* tool, const std::string& arguments) { return {{}, "p", tool, arguments}; }
model::ToolCall remembers(const std::string& fact) { return calls("remember_fact", R"({"fact":")" + fact + "\"}"); }

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("what a model remembers of a user is known in the user's other threads, by meaning, and to nobody else") {
    Remembering helper;
    CHECK(has(Remembering::resultOf(helper.say("ada", "hi", {remembers("has a cat")})), "Remembered"));
    helper.say("ada", "hi", {remembers("likes tea")}, "t2");
    helper.say("bob", "hi", {remembers("loves rain")}, "t3");
    helper.instructions.clear();
    helper.say("ada", "what does my cat eat?", {}, "t4");
    REQUIRE(helper.instructions.size() == 1);
    const std::string& told = helper.instructions[0];
    CHECK(told.starts_with("Help.\n\nWhat is known of the user"));
    CHECK(told.find("has a cat") < told.find("likes tea"));
    CHECK(!has(told, "rain"));
    helper.say("bob", "my cat and tea", {calls("search_facts", R"({"query":"cat tea"})")}, "t5");
    CHECK(!has(helper.instructions[1], "cat"));
    CHECK(has(helper.instructions[1], "loves rain"));
}

TEST_CASE("a model cannot name another user's part of the store") {
    Remembering helper;
    const std::string remembered = Remembering::resultOf(helper.say("ada", "hi", {remembers("has a cat")}));
    const std::string id = remembered.substr(remembered.rfind(' ') + 1);
    REQUIRE(helper.store->get({"memory", "ada", "facts"}, id));
    for (const char* const arguments :
         {R"({"id":"%s"})", R"({"id":"%s","user":"ada"})", R"({"id":"../ada/facts/%s"})"}) {
        std::string made = arguments;
        made.replace(made.find("%s"), 2, id);
        CHECK(!has(Remembering::resultOf(helper.say("bob", "hi", {calls("forget_fact", made)}, "b")), "Forgotten"));
    }
    CHECK(Remembering::resultOf(helper.say("bob", "x", {calls("search_facts", R"({"query":"cat"})")}, "b")) == "[]");
    helper.say("bob", "x", {calls("update_profile", R"({"members":{"ns":["memory","ada"],"name":"Bob"}})")}, "b");
    CHECK(helper.store->search({.namespace_prefix = {"memory", "ada"}}).size() == 1);
    CHECK(Remembering::resultOf(helper.say("ada", "x", {calls("forget_fact", R"({"id":")" + id + "\"}")})) ==
          "Forgotten");
    CHECK(!helper.store->get({"memory", "ada", "facts"}, id));
}

TEST_CASE("users' names do not meet in the store, whatever characters they have") {
    CHECK(agent::memoryOf("a.b@x.example") == sg::StoreNamespace{"memory", "a%2Eb@x%2Eexample"});
    CHECK(agent::memoryOf("a%2Eb") == sg::StoreNamespace{"memory", "a%252Eb"});
    CHECK_THROWS_AS(agent::memoryOf(""), sg::InvalidArgumentError);
    CHECK_THROWS_AS(agent::memoryOf(std::string(257, 'a')), sg::InvalidArgumentError);
    Remembering helper;
    helper.say("a.b", "hi", {remembers("has a cat")});
    helper.instructions.clear();
    helper.say("a.b", "cat", {}, "t2");
    helper.say("a", "cat", {}, "t3");
    CHECK(has(helper.instructions[0], "has a cat"));
    CHECK(!has(helper.instructions[1], "cat"));
}

TEST_CASE("a run of nobody has no memory") {
    Remembering helper;
    CHECK(has(Remembering::resultOf(helper.say("", "hi", {remembers("has a cat")})), "There is no memory"));
    CHECK(helper.store->search({}).empty());
    CHECK(helper.instructions == Strings{"Help.", "Help."});
}

TEST_CASE("a profile is changed member by member, and told at the beginning of a turn") {
    Remembering helper;
    helper.say("ada", "hi", {calls("update_profile", R"({"members":{"name":"Ada","language":"en"}})")});
    CHECK(Remembering::resultOf(
              helper.say("ada", "x", {calls("update_profile", R"({"members":{"language":null,"city":"Bonn"}})")})) ==
          R"({"city":"Bonn","name":"Ada"})");
    // A turn is told the same in all of its calls.
    CHECK(has(helper.instructions[2], R"(Profile: {"name":"Ada","language":"en"})"));
    CHECK(helper.instructions[3] == helper.instructions[2]);
    const std::string large(20'000, 'x');
    CHECK(has(Remembering::resultOf(
                  helper.say("ada", "x", {calls("update_profile", R"({"members":{"a":")" + large + "\"}}")})),
              "at most 16384 bytes"));
}

TEST_CASE("what a model is told and what it may remember has limits") {
    Remembering helper({.facts = 10, .bytes_max = 256, .facts_max = 3});
    for (const char* const fact : {"one tea", "two tea", "three tea"}) helper.say("ada", "hi", {remembers(fact)});
    CHECK(has(Remembering::resultOf(helper.say("ada", "hi", {remembers("four tea")})), "which is the most"));
    CHECK(has(Remembering::resultOf(helper.say("ada", "hi", {remembers(std::string(5000, 'a'))})), "1 to 4096 bytes"));
    helper.instructions.clear();
    helper.say("ada", "tea");
    CHECK(helper.instructions.at(0).size() < 256 + 150);
    CHECK_THROWS_AS(agent::memory({}), sg::InvalidArgumentError);
}

TEST_CASE("without an index the newest facts are told") {
    Remembering helper({.by_meaning = false, .facts = 1});
    const auto clock = ManualClock::make();
    sg::StoreOptions options;
    options.clock = clock;
    helper.store = std::make_shared<sg::MemoryStore>(options);
    for (const char* const fact : {"an older fact", "an old fact", "a new fact"}) {
        clock->passMs(1000);
        helper.say("ada", "hi", {remembers(fact)});
    }
    helper.instructions.clear();
    helper.say("ada", "hi", {}, "t2");
    CHECK(has(helper.instructions.at(0), "a new fact"));
    CHECK(!has(helper.instructions.at(0), "an old"));
}

TEST_CASE("somebody else who continues a turn is not told what is known of the user who began it") {
    Remembering helper;
    helper.say("ada", "hi", {remembers("has a cat")});
    int rounds = 0;
    const auto asking = model::scripted([&](const model::Request& request) {
        helper.instructions.emplace_back(request.instructions);
        return ++rounds == 1 ? model::assistant({{{}, "1", "work", R"({"what":"x"})"}}) : model::assistant("ok");
    });
    const agent::Agent gatedAgent({.model = asking,
                                   .tools = {work(std::make_shared<Ledger>(), "work", gated())},
                                   .middleware = {helper.memory.recall},
                                   .compile = {.checkpointer = helper.saver, .store = helper.store}});
    helper.instructions.clear();
    gatedAgent.say("my cat", {.thread_id = "g", .context = sg::RunContext(std::string("ada"))});
    gatedAgent.graph().invoke(gatedAgent.decide("g", "1", {.approved = true}),
                              {.thread_id = "g", .context = sg::RunContext(std::string("bob"))});
    REQUIRE(helper.instructions.size() == 2);
    CHECK(has(helper.instructions[0], "has a cat"));
    CHECK(!has(helper.instructions[1], "cat"));
}
