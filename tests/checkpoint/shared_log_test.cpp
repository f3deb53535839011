// SECONDS: 50
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/shared.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/golden/rows.hpp"
#include "tests/support/fixed_ids.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/seed.hpp"

// A log does not say whether the values in it were shared or copied.
namespace sg = stategraph;

namespace shared_log {

struct Item {
    std::string text = {};
    std::vector<int> numbers = {};
    static constexpr auto fields() { return sg::fields<&Item::text, &Item::numbers>(); }
};

template <class T>
using Copy = T;

/// `Hold` is Copy or sg::Shared.
template <template <class> class Hold>
struct StateOf {
    int turn = 0;
    std::vector<Hold<Item>> list = {};
    std::vector<Hold<sg::Message>> messages = {};
    Hold<std::vector<Item>> whole = {};
    std::map<std::string, Hold<Item>> entries = {};
    std::optional<Hold<Item>> maybe = {};

    static constexpr auto channels() {
        return sg::channels(sg::channel<&StateOf::turn>(sg::sum), sg::channel<&StateOf::list>(sg::append),
                            sg::channel<&StateOf::messages>(sg::addMessages), sg::channel<&StateOf::whole>(),
                            sg::channel<&StateOf::entries>(sg::merge), sg::channel<&StateOf::maybe>());
    }
};

Item itemOf(std::mt19937_64& random) {
    Item item{.text = std::string(random() % 120, static_cast<char>('a' + random() % 26))};
    for (std::size_t i = random() % 5; i > 0; --i) item.numbers.push_back(static_cast<int>(random() % 1000));
    return item;
}

/// Makes one random write, which is the same for the same numbers.
template <template <class> class Hold>
sg::Update<StateOf<Hold>> change(const StateOf<Hold>& s, std::uint64_t seed) {
    using State = StateOf<Hold>;
    std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(s.turn));
    sg::Update<State> update{sg::add<&State::turn>(1)};
    const Hold<Item> item = itemOf(random);
    switch (random() % 8) {
        case 0:
            update.with(sg::add<&State::list>(item));
            break;
        case 1:
            update.with(sg::add<&State::list>(s.list));
            break;  // the list to itself: shared with what it holds
        case 2:
            update.with(sg::set<&State::maybe>(s.list.empty() ? item : s.list.front()));
            break;
        case 3:
            update.with(sg::add<&State::entries>({{std::to_string(random() % 3), item}}));
            break;
        case 4:
            update.with(sg::set<&State::whole>(std::vector<Item>(random() % 3, itemOf(random))));
            break;
        case 5:
            update.with(sg::add<&State::messages>(sg::Message{"user", itemOf(random).text}));
            break;
        case 6:
            update.with(sg::add<&State::messages>(sg::Message{"user", itemOf(random).text, "fixed"}));
            if (!s.entries.empty()) update.with(sg::set<&State::maybe>(s.entries.begin()->second));
            break;
        default:
            if (!s.messages.empty()) {
                const sg::Message& first = sg::detail::Opened<Hold<sg::Message>>::read(s.messages.front());
                update.with(sg::add<&State::messages>(sg::removeMessage(first.id)));
            }
    }
    return update;
}

template <template <class> class Hold>
auto compiled(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, std::uint64_t seed) {
    using State = StateOf<Hold>;
    sg::StateGraph<State> graph;
    graph.addNode("change", [seed](const State& s) { return change<Hold>(s, seed); })
        .addNode("take", [](const Hold<Item>& payload) { return sg::Update<State>{sg::add<&State::list>(payload)}; })
        .addEdge(sg::START, "change")
        .addConditionalEdges("change",
                             [](const State& s) -> sg::Target {
                                 if (s.turn % 10 == 0) return sg::END;
                                 if (s.turn % 4 == 0 && !s.list.empty()) return sg::Send("take", s.list.back());
                                 return "change";
                             })
        .addEdge("take", "change");
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

template <template <class> class Hold>
std::string turn(savers::Store& store, std::uint64_t seed, sg::Durability durability) {
    const auto app = compiled<Hold>(store.open(), seed);
    const auto result = app.invoke({}, {.thread_id = "t", .durability = durability, .recursion_limit = 100});
    REQUIRE((result.status == sg::Status::done));
    return sg::toJson(result.values);
}

/// Runs a thread twice, by two processes as far as the library can tell, and returns what is stored.
template <template <class> class First, template <class> class Second>
std::string stored(savers::Store& store, std::uint64_t seed, sg::Durability durability) {
    std::string text = turn<First>(store, seed, durability) + '\n';
    text += turn<Second>(store, seed, durability) + '\n';
    return text + golden::rowsOf(*store.open());
}

TEST_CASE("the log of shared values is that of copied ones byte for byte, and each reads the other's threads") {
    const std::uint64_t first = tests::seed();
    for (std::uint64_t seed = first; seed < first + sanitized::some(12); ++seed) {
        INFO("repeat with STATEGRAPH_TEST_SEED=" << seed);
        for (const auto durability : {sg::Durability::sync, sg::Durability::exit}) {
            std::vector<std::string> logs;
            const auto note = [&](auto run) {
                savers::onEach([&](savers::Store& store) { logs.push_back(run(store, seed, durability)); });
            };
            note(stored<Copy, Copy>);
            note(stored<sg::Shared, sg::Shared>);
            note(stored<Copy, sg::Shared>);
            note(stored<sg::Shared, Copy>);
            for (const std::string& log : logs) CHECK(log == logs.front());
            CHECK(logs.front().find("commit\t") != std::string::npos);
        }
    }
}

struct Lists {
    std::vector<Item> list = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&Lists::list>(sg::append)); }
};
struct SharedLists {
    sg::Shared<std::vector<Item>> list = {};
    static constexpr auto channels() { return sg::channels<&SharedLists::list>(); }
};

TEST_CASE("a list that was appended to is read as one shared value") {
    savers::onEach([](savers::Store& store) {
        {
            sg::StateGraph<Lists> graph;
            graph.addNode("a", [](const Lists&) { return sg::add<&Lists::list>(Item{"a", {1}}); });
            const auto app = graph.addEdge(sg::START, "a").compile({.checkpointer = store.open()});
            for (int i = 0; i < 3; ++i) app.invoke({sg::add<&Lists::list>(Item{"in", {}})}, {.thread_id = "t"});
        }
        sg::StateGraph<SharedLists> graph;
        graph.addNode("a", [](const SharedLists&) {});
        const auto app = graph.addEdge(sg::START, "a").compile({.checkpointer = store.open()});
        CHECK(app.getState({.thread_id = "t"}).values.list->size() == 6);
    });
}

}  // namespace shared_log
