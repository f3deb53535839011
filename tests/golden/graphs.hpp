#pragma once
#include <optional>
#include <stdexcept>

#include <stategraph/json.hpp>

#include "tests/golden/states.hpp"
#include "tests/golden/threads.hpp"
#include "tests/support/fixed_ids.hpp"

// The graphs of the golden databases' threads. `broken` selects the graph that stored a thread which stopped at a
// failure.
namespace golden {

inline sg::Update<Line> says(std::string word) { return {sg::add(&Line::v, std::move(word))}; }
inline auto saying(std::string word) {
    return [word](const Line&) -> sg::Update<Line> { return says(word); };
}
inline auto asking(int times) {
    return [times](const Line&, sg::Runtime& runtime) -> sg::Update<Line> {
        Words answers;
        for (int i = 0; i < times; ++i)
            answers.push_back(sg::interrupt<std::string>(runtime, "question " + std::to_string(i)));
        return {sg::add(&Line::v, answers)};
    };
}

template <class G>
auto compiled(const G& graph, const SharedSaver& saver) {
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

// START -> a -> b -> c
inline auto chain(const SharedSaver& saver) {
    sg::StateGraph<Line> graph;
    graph.addSequence("a", saying("a"), "b", saying("b"), "c", saying("c")).addEdge(sg::START, "a");
    return compiled(graph, saver);
}

// START -> fin and bad at the same time; both -> end by a join. bad fails if `broken`, or asks `questions`.
inline auto fork(const SharedSaver& saver, bool broken, int questions = 0) {
    sg::StateGraph<Line> graph;
    graph.addNode("fin",
                  [](const Line&) -> sg::Command<Line> {
                      return {.update = says("fin"), .go_to = {"after", sg::Send("work", "7")}};
                  },
                  {.ends = {"after", "work"}});
    graph.addNode("bad", [broken, questions](const Line& state, sg::Runtime& runtime) -> sg::Update<Line> {
        if (broken) throw std::runtime_error("out of order");
        if (questions > 0) return asking(questions)(state, runtime);
        return says("bad");
    });
    graph.addNode("after", saying("after")).addNode("end", saying("end"));
    graph.addNode("work", [](const std::string& word) -> sg::Update<Line> { return says("work " + word); });
    graph.addEdge(sg::START, "fin").addEdge(sg::START, "bad").addEdge({"fin", "bad"}, "end");
    return compiled(graph, saver);
}

// START -> pay, with an effect that is done, and one whose end is not known if `broken`. A question replaces the crash
// in between.
inline auto effects(const SharedSaver& saver, bool broken) {
    sg::StateGraph<Line> graph;
    graph.addNode("pay", [broken](const Line&, sg::Runtime& runtime) -> sg::Update<Line> {
        std::string done = runtime.once("done", [broken] { return std::string(broken ? "receipt" : "again"); });
        const auto act = [broken]() -> std::string {
            if (broken) throw std::runtime_error("who knows");
            return "repeated";
        };
        const auto check = []() -> std::optional<std::string> { return "checked"; };
        return {sg::add(&Line::v, Words{done, runtime.once("doubt", act, check)})};
    });
    graph.addEdge(sg::START, "pay");
    return compiled(graph, saver);
}

// A router of START that fails if `broken`, so that the input stays pending.
inline auto entrance(const SharedSaver& saver, bool broken) {
    sg::StateGraph<Line> graph;
    graph.addNode("a", saying("a")).addConditionalEdges(sg::START, [broken](const Line&) {
        if (broken) throw std::runtime_error("no entrance");
        return "a";
    });
    return compiled(graph, saver);
}

// START -> left and right -> far; left and far join in both; late is deferred after left, and last is deferred after
// the join of left and far.
inline auto paths(const SharedSaver& saver) {
    sg::StateGraph<Line> graph;
    for (const char* name : {"left", "right", "far", "both"}) graph.addNode(name, saying(name));
    graph.addNode("late", saying("late"), {.defer = true}).addNode("last", saying("last"), {.defer = true});
    graph.addEdge(sg::START, "left").addEdge(sg::START, "right").addEdge("right", "far").addEdge("left", "late");
    graph.addEdge({"left", "far"}, "both").addEdge({"left", "far"}, "last");
    return compiled(graph, saver);
}

// START -> split, which creates Sends.
inline auto map(const SharedSaver& saver) {
    sg::StateGraph<Line> graph;
    graph.addNode("split", saying("split")).addNode("work", [](const Point& point) -> sg::Update<Line> {
        return says("x " + std::to_string(point.x));
    });
    graph.addEdge(sg::START, "split").addConditionalEdges("split", [](const Line&) {
        return std::vector<sg::Send>{{"work", Point{1, "one"}}, {"work", Point{2, {}}}};
    });
    return compiled(graph, saver);
}

// START -> sub -> z, where sub asks; or sub runs again and again, with one log.
inline auto nested(const SharedSaver& saver, bool per_thread) {
    sg::StateGraph<Inner> inner;
    inner.addNode("x", [](const Inner&) -> sg::Update<Inner> { return {sg::add(&Inner::w, "x")}; });
    inner.addNode("y", [](const Inner& state, sg::Runtime& runtime) -> sg::Update<Inner> {
        return {sg::add(&Inner::w, std::to_string(state.w.size()) + sg::interrupt<std::string>(runtime, "inside?"))};
    });
    inner.addEdge(sg::START, "x").addEdge("x", "y");
    sg::StateGraph<Line> graph;
    graph.addNode(
        "sub", inner.compile({.checkpointer = per_thread ? sg::PER_THREAD : sg::Checkpointer()}),
        [](const Line&) -> sg::Update<Inner> { return {}; },
        [](const Inner& done) -> sg::Update<Line> { return {sg::add(&Line::v, done.w)}; });
    graph.addNode("z", saying("z")).addEdge(sg::START, "sub").addEdge("sub", "z");
    return compiled(graph, saver);
}

// START -> grow, 60 times: a long value is replaced each time, so that full snapshots are written.
inline auto growing(const SharedSaver& saver) {
    sg::StateGraph<Channels> graph;
    graph.addNode("grow", [](const Channels& state) -> sg::Update<Channels> {
        return {sg::set(&Channels::last, std::string(150, static_cast<char>('a' + state.sum % 26))),
                sg::add(&Channels::sum, 1)};
    });
    graph.addEdge(sg::START, "grow").addConditionalEdges("grow", [](const Channels& state) {
        return state.sum % 40 != 0 ? "grow" : sg::END;
    });
    return compiled(graph, saver);
}

// START -> 1 -> 2 -> 3 -> 4: every operation on every kind of channel.
inline auto operations(const SharedSaver& saver) {
    using U = sg::Update<Channels>;
    sg::StateGraph<Channels> graph;
    graph.addNode("1", [](const Channels&) -> U {
        return {
            sg::set(&Channels::last, "one"),
            sg::set(&Channels::cleared, "set"),
            sg::set(&Channels::any, "any"),
            sg::set(&Channels::once, "once"),
            sg::add(&Channels::topic, "t1"),
            sg::set(&Channels::untracked, "nowhere"),
            sg::add(&Channels::list, "l1"),
            sg::add(&Channels::sum, 4),
            sg::add(&Channels::least, 7),
            sg::add(&Channels::most, 7),
            sg::merge(&Channels::map, {{"a", 1}, {"b", 2}}),
            sg::add(&Channels::messages,
                    std::vector<sg::Message>{{"user", "hello", "m1"}, {"ai", "first", "m2"}, {"user", "no id", ""}})};
    });
    graph.addNode("2", [](const Channels&) -> U {
        return {
            sg::clear(&Channels::cleared), sg::add(&Channels::list, Words{"l2", "l3"}), sg::add(&Channels::topic, "t2"),
            sg::merge(&Channels::map, {{"b", 3}}),
            sg::add(&Channels::messages,
                    std::vector<sg::Message>{{"ai", "replaced", "m2"}, sg::removeMessage("m1"), {"ai", "last", "m4"}})};
    });
    graph.addNode("3", [](const Channels&) -> U {
        return {sg::overwrite(&Channels::list, Words{"over"}), sg::overwrite(&Channels::sum, 1),
                sg::clear(&Channels::map), sg::add(&Channels::least, 3)};
    });
    graph.addNode("4", [](const Channels&) -> U {
        return {sg::add(&Channels::list, "end"), sg::merge(&Channels::map, {{"z", 26}})};
    });
    graph.addEdge(sg::START, "1").addEdge("1", "2").addEdge("2", "3").addEdge("3", "4");
    return compiled(graph, saver);
}

inline auto types(const SharedSaver& saver) {
    sg::StateGraph<Types> graph;
    graph.addNode("write", [](const Types&) -> sg::Update<Types> {
        using std::chrono::sys_days;
        Types all{.yes = true, .small = -128, .least = INT64_MIN, .most = UINT64_MAX, .single = 1.5F, .real = 0.1};
        sg::Update<Types> update{sg::set(&Types::yes, all.yes),       sg::set(&Types::small, all.small),
                                 sg::set(&Types::least, all.least),   sg::set(&Types::most, all.most),
                                 sg::set(&Types::single, all.single), sg::set(&Types::real, all.real)};
        update.with(sg::set(&Types::infinite, -1e308 * 10)).with(sg::set(&Types::colour, Colour::green));
        update.with(sg::set(&Types::text, "\u00fcber \U0001F600")).with(sg::set(&Types::raw, "\xff\x01"));
        update.with(sg::set(&Types::bytes, {std::byte{0}, std::byte{255}}))
            .with(sg::set(&Types::some, 5))
            .with(sg::set(&Types::none, std::nullopt));
        update.with(sg::set(&Types::variant, "second"))
            .with(sg::set(&Types::pair, {1, "p"}))
            .with(sg::set(&Types::tuple, {2, true, "t"}));
        update.with(sg::set(&Types::array, {1, 2, 3})).with(sg::set(&Types::points, {{1, "one"}, {-2, std::nullopt}}));
        update.with(sg::set(&Types::bits, {true, false}))
            .with(sg::set(&Types::set, {"b", "a"}))
            .with(sg::set(&Types::hashed_set, {"y", "x"}));
        update.with(sg::set(&Types::map, {{-1, "m"}, {300, "n"}}))
            .with(sg::set(&Types::hashed_map, {{"k", {1, 2}}, {"", {}}}));
        update.with(sg::set(&Types::duration, std::chrono::milliseconds(-1500)));
        update.with(sg::set(&Types::time, std::chrono::sys_time<std::chrono::microseconds>(
                                              std::chrono::microseconds(1'700'000'000'000'001))));
        update.with(sg::set(&Types::value, sg::Value("any")));
        return update;
    });
    graph.addNode("read",
                  [](const Types& all) -> sg::Update<Types> { return {sg::set(&Types::text, all.text + "!")}; });
    graph.addEdge(sg::START, "write").addEdge("write", "read");
    return compiled(graph, saver);
}

// Channels are named at run time, and a node takes any JSON as a Send's payload.
inline auto json(const SharedSaver& saver) {
    using State = sg::JsonState;
    using U = sg::Update<State>;
    sg::JsonSchema schema;
    schema.channel("last")
        .channel("list", sg::JsonReducer::append())
        .channel("sum", sg::JsonReducer::sum())
        .channel("map", sg::JsonReducer::merge());
    schema.channel("messages", sg::JsonReducer::messages())
        .channel("once", sg::JsonReducer::ephemeral())
        .channel("topic", sg::JsonReducer::topic());
    sg::StateGraph<State> graph(schema);
    graph.addNode("1", [](const State&) -> U {
        return {sg::write("last", boost::json::parse(R"({"n":null,"b":true,"i":-3,"d":0.25,"s":"text","a":[1,[2]]})")),
                sg::write("list", boost::json::array{1, "two"}),
                sg::write("sum", 2.5),
                sg::write("map", boost::json::parse(R"({"k":{"x":1}})")),
                sg::write("messages", boost::json::parse(R"([{"role":"user","content":"hi","id":"j1"}])")),
                sg::write("once", 1),
                sg::write("topic", boost::json::array{"t"})};
    });
    graph.addNode("2", [](const State&) -> U {
        return {sg::write("list", boost::json::array{3}), sg::write("map", boost::json::parse(R"({"l":2})")),
                sg::overwrite("sum", 1),
                sg::write("messages", boost::json::parse(R"([{"role":"ai","content":"edited","id":"j1"}])"))};
    });
    graph.addEdge(sg::START, "1").addEdge("1", "2");
    return compiled(graph, saver);
}

}  // namespace golden
