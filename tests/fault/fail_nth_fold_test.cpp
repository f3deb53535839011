// ALSO PLAIN: it fails or counts allocations
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/json.hpp>
#include <stategraph/shared_list.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/failing_new.hpp"

// The writes of a superstep go into the state as a whole or not at all, for every reducer. With exit durability the
// state is stored when a run fails, so half of the writes would stay.
namespace sg = stategraph;

namespace {

const std::string word = "a text that does not fit into the string itself";

template <template <class...> class List>
struct Folds {
    List<std::string> list = {};
    List<std::string> now = {};
    std::map<std::string, std::string> table = {};
    std::string longest = {};
    std::string last = {};
    List<sg::Message> messages = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("list", &Folds::list, sg::append), sg::channel("now", &Folds::now, sg::topic),
                            sg::channel("table", &Folds::table, sg::merge),
                            sg::channel("longest", &Folds::longest, sg::max), sg::channel("last", &Folds::last),
                            sg::channel("messages", &Folds::messages, sg::addMessages));
    }
};

template <class Folds>
sg::Update<Folds> writes(const std::string& text) {
    return {sg::add(&Folds::list, text + word),
            sg::add(&Folds::list, {word, text}),
            sg::add(&Folds::now, text + word),
            sg::add(&Folds::now, word),
            sg::merge(&Folds::table, {{"known " + word, text + word}, {text + word, "new"}}),
            sg::merge(&Folds::table, {{"known " + word, word}}),
            sg::add(&Folds::longest, text + word),
            sg::set(&Folds::last, text + word),
            sg::add(&Folds::messages, sg::Message{.role = "ai", .content = text + word, .id = "known"}),
            sg::add(&Folds::messages, sg::Message{.role = "ai", .content = word, .id = text})};
}

template <class Folds>
sg::CompiledGraph<Folds> typedGraph(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    sg::StateGraph<Folds> graph;
    graph.addNode("w", [](const Folds&) { return writes<Folds>("node"); });
    graph.addEdge(sg::START, "w");
    return graph.compile({.checkpointer = saver});
}

using boost::json::value;

sg::Update<sg::JsonState> jsonWrites(const std::string& text) {
    sg::Update<sg::JsonState> update;
    update.write("list", value{text + word, word});
    update.write("list", value{text});
    update.write("table", value{{"known", text + word}, {text + word, "new"}});
    update.write("table", value{{"known", word}});
    update.write("last", value(text + word));
    update.write("sum", value(1));
    update.write("messages", value{{{"id", "known"}, {"content", text + word}}, {{"id", text}, {"content", word}}});
    update.write("messages", value{{{"id", "gone " + text}, {"content", word}}, {{"id", "kept"}, {"content", text}}});
    update.write("messages", value{{"id", "gone " + text}, {"type", "remove"}});
    return update;
}

sg::CompiledGraph<sg::JsonState> jsonGraph(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    sg::JsonSchema schema;
    schema.channel("list", sg::JsonReducer::append()).channel("table", sg::JsonReducer::merge());
    schema.channel("last", sg::JsonReducer::lastValue()).channel("sum", sg::JsonReducer::sum());
    schema.channel("messages", sg::JsonReducer::messages());
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("w", [](const sg::JsonState&) { return jsonWrites("node"); });
    graph.addEdge(sg::START, "w");
    return graph.compile({.checkpointer = saver});
}

/// Fails the nth allocation of a second run on a thread, for each n.
template <class Make, class Input>
void failEach(Make make, Input input) {
    const sg::Config T{.thread_id = "t"};
    const auto run = [](sg::Durability durability) {
        return sg::RunConfig{.thread_id = "t", .durability = durability, .max_concurrency = 1};
    };
    std::set<std::string> wanted;
    std::string final;
    {
        const auto app = make(std::make_shared<sg::MemorySaver>());
        app.invoke(input("first"), run(sg::Durability::sync));
        app.invoke(input("second"), run(sg::Durability::sync));
        for (const auto& snapshot : app.getStateHistory(T)) wanted.insert(snapshot.valuesAsJson());
        final = app.getState(T).valuesAsJson();
    }
    std::size_t failed = 0;
    for (std::size_t n = 1;; ++n) {
        REQUIRE(n < 10'000);
        CAPTURE(n);
        const auto app = make(std::make_shared<sg::MemorySaver>());
        app.invoke(input("first"), run(sg::Durability::sync));
        const auto before = app.getState(T).config;
        auto second = input("second");
        failing_new::arm(n);
        try {
            app.invoke(std::move(second), run(sg::Durability::exit));
        } catch (const std::exception&) {
        }
        if (failing_new::disarm() == 0) break;
        ++failed;
        const auto state = app.getState(T);
        CHECK_MESSAGE(wanted.contains(app.getState(state.config).valuesAsJson()),
                      app.getState(state.config).valuesAsJson());
        if (state.config == before) {
            app.invoke(input("second"), run(sg::Durability::exit));
        } else if (!state.tasks.empty()) {
            app.invoke(sg::RESUME, run(sg::Durability::exit));
        }
        CHECK(app.getState(T).valuesAsJson() == final);
    }
    CHECK(failed > 30);
}

}  // namespace

TEST_CASE("without memory for all of a superstep's writes none is in the state") {
    if (!failing_new::available()) {
        MESSAGE("left out: the sanitizer has its own operator new");
        return;
    }
    failEach(typedGraph<Folds<std::vector>>, writes<Folds<std::vector>>);
    failEach(typedGraph<Folds<sg::SharedList>>, writes<Folds<sg::SharedList>>);
}

TEST_CASE("without memory for all of a superstep's writes none is in a state of JSON") {
    if (!failing_new::available()) {
        MESSAGE("left out: the sanitizer has its own operator new");
        return;
    }
    failEach(jsonGraph, jsonWrites);
}
