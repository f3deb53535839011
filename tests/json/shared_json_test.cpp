#include <stategraph/shared_json.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/value.hpp>

#include "json/json_node.hpp"

// JSON values whose copies are pointers.
namespace sg = stategraph;
namespace json = boost::json;
using sg::JsonReducer;
using sg::JsonState;
using sg::SharedJson;
using sg::detail::JsonNodes;
using Update = sg::Update<JsonState>;

namespace {

const json::string word(100, 'w');

json::value sample() { return json::value{{"text", word}, {"list", {1, word, {{"deep", {word, nullptr}}}}}, {"n", 5}}; }

std::string bytesOf(const SharedJson& value) {
    std::string cbor;
    sg::Encoder out(cbor);
    sg::Codec<SharedJson>::encode(out, value);
    return cbor;
}

/// Returns a schema with one channel of each kind that takes lists, and two that take anything.
sg::JsonSchema schema() {
    sg::JsonSchema schema;
    schema.channel("list", JsonReducer::append())
        .channel("other", JsonReducer::append({0, word}))
        .channel("topic", JsonReducer::topic())
        .channel("map", JsonReducer::merge())
        .channel("messages", JsonReducer::messages())
        .channel("one")
        .channel("two");
    return schema;
}

/// Returns the state after each node has run, one in each superstep.
JsonState after(const std::vector<std::function<Update(const JsonState&)>>& nodes, const Update& input) {
    sg::StateGraph<JsonState> graph(schema());
    std::string last = sg::START;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::string name = "n" + std::to_string(i);
        graph.addNode(name, nodes[i]).addEdge(last, name);
        last = name;
    }
    return graph.compile().invoke(input).values;
}

}  // namespace

TEST_CASE("copies and parts of shared JSON are the same object, and numbers and short texts are held in place") {
    const SharedJson whole = sample();
    const SharedJson copy = whole;
    CHECK(copy.isSame(whole));
    CHECK(&copy.get() == &whole.get());
    CHECK(&whole.at("list").get() == &whole.get().at("list"));
    CHECK(&whole.at("list").at(2).at("deep").get() == &whole.get().at("list").at(2).at("deep"));
    CHECK(whole.at("n").get() == 5);
    CHECK(whole.size() == 3);
    CHECK(whole.at("list").size() == 3);
    CHECK(whole.at("list").front().get() == 1);
    CHECK(whole.at("list").back() == SharedJson(sample().at("list").at(2)));
    CHECK(SharedJson().isNull());
    CHECK(SharedJson("short").get() == "short");
    CHECK_FALSE(SharedJson("short").isSame(SharedJson("short")));
    CHECK(SharedJson("short") == SharedJson("short"));
    CHECK(SharedJson(json::array()).size() == 0);
    std::ostringstream out;
    out << SharedJson(json::value{1, "a"});
    CHECK(out.str() == R"([1,"a"])");
}

TEST_CASE("a part keeps the whole alive") {
    SharedJson part;
    {
        const SharedJson whole = sample();
        part = whole.at("list").at(2).at("deep");
    }
    CHECK(part.get() == json::value{word, nullptr});
    SharedJson of_part = part.at(0);
    part = SharedJson();
    CHECK(of_part.get() == word);
    of_part = std::move(of_part);  // NOLINT(clang-diagnostic-self-move)
    CHECK(of_part.get() == word);
}

TEST_CASE("what shared JSON does not have is an error that says what it has") {
    const SharedJson whole = sample();
    CHECK_THROWS_WITH_AS(whole.at("list").at(3), "the JSON list has 3 elements, and none at 3",
                         sg::InvalidArgumentError);
    CHECK_THROWS_AS(whole.at("nothing"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(whole.at(0), sg::InvalidArgumentError);
    CHECK_THROWS_AS(SharedJson(5).at("a"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(SharedJson(json::array()).at(0), sg::InvalidArgumentError);
    CHECK_THROWS_AS(SharedJson(json::object()).at("a"), sg::InvalidArgumentError);
}

TEST_CASE("a list of shared parts reads, compares and encodes as the same list in one piece, at every encoding") {
    const SharedJson item = sample();
    const SharedJson list = SharedJson::list({item, item.at("text"), SharedJson(7), SharedJson::list({item})});
    const SharedJson plain = json::value{sample(), word, 7, json::array{sample()}};
    CHECK(list == plain);
    CHECK(plain == list);
    CHECK(list.toValue() == plain.get());
    CHECK(bytesOf(list) == bytesOf(plain));
    CHECK(bytesOf(list) == bytesOf(plain));  // with the bytes that are kept
    CHECK(list.at(0).isSame(item));
    CHECK(list.get() == plain.get());
    CHECK(&list.get() == &list.get());
    CHECK(list != SharedJson::list({item}));
    CHECK(list != SharedJson::list({item, item, item, item}));
    CHECK(list != SharedJson(5));
    CHECK(sg::Value(list) == sg::Value(plain.get()));
    CHECK(sg::Value(plain.get()).as<SharedJson>() == list);
    CHECK(SharedJson::list({}) == SharedJson(json::array()));
}

TEST_CASE("JSON in memory of its own is copied out of it") {
    SharedJson kept;
    {
        json::monotonic_resource memory;
        kept = SharedJson(json::value(sample(), &memory));
    }
    CHECK(kept.get() == sample());
}

TEST_CASE("channels that are written shared values hold the same objects, and so do copies of a state") {
    const JsonState state =
        after({[](const JsonState& s) {
                   return Update{sg::write("two", s.shared("one")), sg::write("list", s.shared("one"))};
               },
               [](const JsonState& s) { return Update{sg::write("other", s.shared("list"))}; }},
              {sg::write("one", sample())});
    CHECK(state.shared("two").isSame(state.shared("one")));
    CHECK(state.shared("list").back().isSame(state.shared("one")));
    CHECK(state.shared("other").back().isSame(state.shared("one")));
    CHECK(state.at("other") == json::value{0, word, sample()});
    const JsonState copy = state;
    CHECK(copy.shared("one").isSame(state.shared("one")));
    CHECK(&copy.at("one") == &state.at("one"));
    CHECK(JsonState(schema()).shared("one").isNull());
    CHECK_THROWS_WITH_AS(state.shared("none"), doctest::Contains("the state has list, other"),
                         sg::InvalidArgumentError);
}

TEST_CASE("a change of one copy changes no other copy") {
    std::vector<SharedJson> kept;
    const JsonState state = after(
        {[&](const JsonState& s) {
             kept = {s.shared("list"), s.shared("map"), s.shared("messages"), s.shared("one")};
             json::value own = s.shared("one").toValue();
             own.as_object()["n"] = 6;
             return Update{sg::write("two", own)};
         },
         // Each reducer accepts values that others own too.
         [](const JsonState& s) {
             return Update{sg::write("list", s.shared("one")), sg::write("map", s.shared("one")),
                           sg::write("messages", json::array{json::object{{"id", "m"}, {"content", "new"}}}),
                           sg::write("topic", s.shared("list"))};
         },
         [](const JsonState& s) {
             return Update{sg::write("list", json::value(3)), sg::write("other", s.shared("list")),
                           sg::write("map", json::value{{"n", 7}})};
         }},
        {sg::write("list", json::array{1, word}), sg::write("map", json::value{{"text", "old"}, {"x", word}}),
         sg::write("messages", json::array{json::object{{"id", "m"}, {"content", word}}}), sg::write("one", sample())});
    REQUIRE(kept.size() == 4);
    CHECK(kept[0].get() == json::value{1, word});
    CHECK(kept[1].get() == json::value{{"text", "old"}, {"x", word}});
    CHECK(kept[2].get().at(0).at("content") == word);
    CHECK(kept[3].get() == sample());
    CHECK(state.at("one") == sample());
    CHECK(state.at("two").at("n") == 6);
    CHECK(state.at("list") == json::value{1, word, sample(), 3});
    CHECK(state.at("other") == json::value{0, word, 1, word, sample()});
    CHECK(state.at("map").at("n") == 7);
    CHECK(state.at("messages").at(0).at("content") == "new");
}

TEST_CASE("a list can be read as one value and in parts in turn") {
    std::vector<std::function<Update(const JsonState&)>> nodes;
    for (int i = 0; i < 6; ++i) {
        nodes.emplace_back([i](const JsonState& s) {
            const std::size_t size = s.at("list").as_array().size();
            Update update{sg::write("two", s.shared("list").back())};
            update.write("list", i % 2 == 0 ? s.shared("one") : SharedJson(static_cast<std::int64_t>(size)));
            if (i == 3) update.write("list", s.shared("list"));
            return update;
        });
    }
    const JsonState state = after(nodes, {sg::write("one", sample()), sg::write("list", word)});
    const json::value s = sample();
    CHECK(state.at("list") == json::value{word, s, 2, s, 4, word, s, 2, s, s, 10});
    CHECK(state.shared("list") == SharedJson(state.at("list")));
}

TEST_CASE("a superstep that fails takes back what it added to shared lists") {
    sg::StateGraph<JsonState> graph(schema());
    graph
        .addNode("share",
                 [](const JsonState& s) {
                     return Update{sg::write("list", s.shared("list")), sg::write("other", s.shared("list"))};
                 })
        .addNode("fail",
                 [](const JsonState& s) {
                     return Update{sg::write("list", s.shared("list")), sg::write("list", json::value(1)),
                                   sg::write("topic", s.shared("list")), sg::write("map", json::value(5))};
                 })
        .addEdge(sg::START, "share")
        .addEdge("share", "fail");
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    for (const auto durability : {sg::Durability::exit, sg::Durability::sync}) {
        const std::string thread = durability == sg::Durability::exit ? "exit" : "sync";
        CHECK_THROWS_AS(
            app.invoke({sg::write("list", json::array{word})}, {.thread_id = thread, .durability = durability}),
            sg::InvalidUpdateError);
        const auto values = app.getState({.thread_id = thread}).values;
        CHECK(values.at("list") == json::value{word, word});
        CHECK(values.at("other") == json::value{0, word, word});
        CHECK_FALSE(values.has("topic"));
    }
}

TEST_CASE("what is nested too deep is refused, shared or not") {
    json::value deep = word;
    for (int i = 0; i < 255; ++i) deep = json::array{std::move(deep)};
    const SharedJson fits(deep);
    CHECK_NOTHROW(sg::Value{fits});
    CHECK_NOTHROW(sg::Value{SharedJson(fits)});
    const SharedJson too_deep = SharedJson::list({SharedJson::list({fits})});
    CHECK_THROWS_AS(sg::Value{too_deep}, sg::WrongTypeError);
    CHECK_THROWS_AS(sg::Value{too_deep}, sg::WrongTypeError);
    sg::StateGraph<JsonState> graph(schema());
    graph.addNode("n", [&](const JsonState&) { return Update{sg::write("list", SharedJson::list({too_deep}))}; })
        .addEdge(sg::START, "n");
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK_THROWS_AS(app.invoke({sg::write("one", 1)}, {.thread_id = "t"}), sg::InvalidUpdateError);
}

TEST_CASE("lists in lists are nested more deeply than the stack has room for, and refused where they are read whole") {
    const auto nested = [](int levels) {
        SharedJson value(word);
        for (int i = 0; i < levels; ++i) value = SharedJson::list({value, SharedJson(i)});
        return value;
    };
    const SharedJson deep = nested(1'000'000);
    CHECK(deep.size() == 2);
    CHECK(deep.at(0).at(1) == SharedJson(999'998));
    CHECK_THROWS_AS(sg::Value{deep}, sg::WrongTypeError);
    CHECK_THROWS_AS(deep.get(), sg::WrongTypeError);
    CHECK_THROWS_AS(deep.toValue(), sg::WrongTypeError);
    CHECK_THROWS_AS((void)(deep == nested(1'000'000)), sg::WrongTypeError);
    CHECK(deep == SharedJson(deep));

    // Each list ends with its last owner, whether the inner or the outer one is kept longer.
    SharedJson outer = nested(300'000);
    SharedJson inner = outer;
    for (int i = 0; i < 150'000; ++i) inner = inner.at(0);
    outer = SharedJson();
    CHECK(inner.at(1) == SharedJson(149'999));
    sg::StateGraph<JsonState> graph(schema());
    graph.addNode("n", [&](const JsonState&) { return Update{sg::write("list", inner)}; }).addEdge(sg::START, "n");
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK_THROWS_AS(app.invoke({sg::write("one", 1)}, {.thread_id = "t"}), sg::InvalidUpdateError);
}

TEST_CASE("the writes of parallel tasks are judged by how deep they are with their shared parts") {
    // Kept parts of up to 64 levels are not looked at again.
    json::value deep = word;
    for (int i = 0; i < 60; ++i) deep = json::array{std::move(deep)};
    const auto wrapped = [](SharedJson value, int levels) {
        for (int i = 0; i < levels; ++i) value = SharedJson::list({value});
        return value;
    };
    for (const int levels : {95, 97}) {
        sg::StateGraph<JsonState> graph(schema());
        const auto node = [=](const char* channel) {
            return [=](const JsonState& s) {
                return Update{sg::write(channel, wrapped(s.shared("list"), levels)), sg::write("topic", 1)};
            };
        };
        graph.addNode("a", node("one")).addNode("b", node("two")).addEdge(sg::START, "a").addEdge(sg::START, "b");
        const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const SharedJson input = wrapped(SharedJson(deep), 100);
        for (int i = 0; i < 3; ++i) {  // from the second on with the bytes that are kept
            const auto run = [&] {
                app.invoke({sg::overwrite("list", input)},
                           {.thread_id = "t", .durability = sg::Durability::exit, .max_concurrency = 1});
            };
            if (levels == 95) {
                CHECK_NOTHROW(run());
            } else {
                CHECK_THROWS_AS(run(), sg::InvalidUpdateError);
            }
        }
    }
}

TEST_CASE("several threads may copy, read, take apart, encode and drop the same JSON") {
    const SharedJson item = sample();
    const SharedJson list = SharedJson::list({item, item.at("list"), SharedJson(word)});
    const std::string wanted = bytesOf(SharedJson(list.toValue()));
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 300; ++i) {
                SharedJson copy = list;
                if (bytesOf(copy) != wanted) ++wrong;
                SharedJson own = SharedJson::list({copy, copy.at(1).back()});
                if (own.at(0).at(0).at("text").get() != word) ++wrong;
                copy = SharedJson();
                if (own.at(0).get().at(2) != word) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("a value that loses its other owner while it is appended is in its place") {
    const auto named = [](const char* name, int items) {
        return sg::SharedJson(
            json::value{{"name", name}, {"items", json::array(items, "a text of more than fourteen bytes")}});
    };
    for (int round = 0; round < 20; ++round) {
        sg::SharedJson list(json::value{1});
        const sg::SharedJson before = list;
        sg::SharedJson first = named("first", 0);
        const sg::SharedJson first_again = first;
        JsonNodes::append(list, {&first});
        (void)list.get();  // from now on it is one value, into which shared ones are copied
        sg::SharedJson dropped = named("dropped", 0);
        auto other = std::make_unique<sg::SharedJson>(dropped);
        sg::SharedJson kept = named("kept", 20'000);
        const sg::SharedJson kept_again = kept;
        std::thread reader([&] {
            // sleeps: the moment differs from round to round
            std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
            other.reset();
        });
        JsonNodes::append(list, {&dropped, &kept});
        reader.join();
        REQUIRE(list.size() == 4);
        CHECK(list.at(2).at("name") == sg::SharedJson(json::value("dropped")));
        CHECK(list.at(3).at("name") == sg::SharedJson(json::value("kept")));
    }
}
