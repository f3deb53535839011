// SECONDS: 50
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/json.hpp>

#include "tests/golden/rows.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/fixed_ids.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/seed.hpp"

// A log does not say whether the JSON in it was shared or copied.
namespace sg = stategraph;
namespace json = boost::json;
using sg::JsonReducer;
using sg::JsonState;
using sg::SharedJson;
using Update = sg::Update<JsonState>;

namespace {

enum class Hold : std::uint8_t { copied, shared };

json::value valueOf(std::mt19937_64& random, int levels) {
    switch (random() % (levels > 0 ? 8 : 5)) {
        case 0:
            return nullptr;
        case 1:
            return static_cast<std::int64_t>(random() % 1000) - 500;
        case 2:
            return static_cast<double>(random() % 1000) / 8;
        case 3:
            return json::value(json::string(random() % 30, static_cast<char>('a' + random() % 26)));
        case 4:
            return json::value(json::string(random() % 300, 'x'));
        case 5: {
            json::array list;
            for (std::size_t i = random() % 5; i > 0; --i) list.push_back(valueOf(random, levels - 1));
            return list;
        }
        default: {
            json::object object;
            for (std::size_t i = random() % 5; i > 0; --i) {
                object[std::string(1 + random() % 3, static_cast<char>('a' + random() % 5))] =
                    valueOf(random, levels - 1);
            }
            return object;
        }
    }
}

json::value objectOf(std::mt19937_64& random, int levels) {
    for (;;) {
        if (json::value value = valueOf(random, levels); value.is_object()) return value;
    }
}

sg::JsonSchema schema() {
    sg::JsonSchema schema;
    schema.channel("turn", JsonReducer::sum())
        .channel("list", JsonReducer::append())
        .channel("begun", JsonReducer::append({1, "a text that takes memory of its own", json::object{{"a", 1}}}))
        .channel("topic", JsonReducer::topic())
        .channel("map", JsonReducer::merge())
        .channel("messages", JsonReducer::messages())
        .channel(
            "newest",
            JsonReducer::binaryShared(
                "newest", [](const SharedJson& value, const SharedJson& w) { return w.isNull() ? value : w; }, nullptr))
        .channel("last")
        .channel("once", JsonReducer::ephemeral());
    return schema;
}

/// Makes one random superstep's writes, the same for the same numbers. Nodes pass on values as copies, or shared.
Update change(const JsonState& s, Hold hold, std::uint64_t seed) {
    std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(s["turn"].as_int64()));
    const auto handed = [&](const char* channel) {
        return hold == Hold::shared ? s.shared(channel) : SharedJson(s[channel]);
    };
    const char* const channels[] = {"list", "begun", "topic", "map", "messages", "newest", "last", "once"};
    const auto picked = [&]() -> SharedJson {
        const char* const channel = channels[random() % std::size(channels)];
        const std::uint64_t which = random();
        const SharedJson all = s.shared(channel);
        if (which % 3 == 0 || !all.isArray() || all.size() == 0) return handed(channel);
        const std::size_t at = which % all.size();
        return hold == Hold::shared ? all.at(at) : SharedJson(json::value(s[channel].at(at)));
    };
    Update update{sg::write("turn", 1)};
    for (std::size_t writes = 1 + random() % 4; writes > 0; --writes) {
        switch (random() % 12) {
            case 0:
                update.write("list", valueOf(random, 3));
                break;
            case 1:
                update.write("list", picked());
                break;
            case 2:
                update.write("begun", picked());
                break;
            case 3:
                update.write("topic", picked());
                break;
            case 4:
                update.write("map", objectOf(random, 2));
                break;
            case 5:
                if (const SharedJson object = picked(); object.isObject()) update.write("map", object);
                break;
            case 6:
                update.write("messages",
                             json::object{{"id", std::to_string(random() % 4)}, {"content", valueOf(random, 2)}});
                break;
            case 7:
                update.write("messages", handed("messages"));
                break;
            case 8:
                update.write("newest", picked());
                break;
            case 9:
                if (random() % 2 == 0) update.write("begun", valueOf(random, 2));
                break;
            case 10:
                update.write("messages", json::object{{"content", valueOf(random, 1)}});
                break;
            default:
                // A list that has become long begins again.
                if (s.shared("list").size() > 60) update = Update{sg::write("turn", 1), sg::overwrite("list", {1, 2})};
        }
    }
    if (random() % 3 == 0) update.write("last", picked());
    if (random() % 4 == 0) update.write("once", picked());
    return update;
}

sg::CompiledGraph<JsonState> compiled(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, Hold hold,
                                      std::uint64_t seed) {
    sg::StateGraph<JsonState> graph(schema());
    graph.addNode("change", [=](const JsonState& s) { return change(s, hold, seed); })
        .addNode("beside",
                 [=](const JsonState& s) {
                     std::mt19937_64 random(seed + static_cast<std::uint64_t>(s["turn"].as_int64()));
                     const SharedJson list = hold == Hold::shared ? s.shared("list") : SharedJson(s["list"]);
                     return Update{sg::write("begun", list.size() > 60 ? SharedJson(1) : list),
                                   sg::write("list", valueOf(random, 2))};
                 })
        .addNode("part", [](const json::value& payload) { return Update{sg::write("list", payload)}; })
        .addEdge(sg::START, "change")
        .addEdge("change", "beside")
        .addConditionalEdges("change",
                             [](const JsonState& s) -> sg::Target {
                                 const std::int64_t turn = s["turn"].as_int64();
                                 if (turn % 8 == 0) return sg::END;
                                 if (turn % 3 == 0 && s.shared("list").size() > 0)
                                     return sg::Send("part", s.shared("list").back().toValue());
                                 return "change";
                             })
        .addEdge("part", "change");
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

/// Runs two turns of one thread, by two processes as far as the library can tell. Returns what they returned and what
/// is stored.
std::string stored(savers::Store& store, const drivers::Driver& driver, std::vector<Hold> holds, std::uint64_t seed,
                   sg::Durability durability) {
    std::string text;
    for (const Hold hold : holds) {
        const auto app = compiled(store.open(), hold, seed);
        const auto outcome =
            driver.run(app, {sg::write("last", json::array{1})},
                       {.thread_id = "t", .durability = durability, .recursion_limit = 100, .max_concurrency = 1});
        REQUIRE(outcome.what() == "");
        text += json::serialize(outcome.values.toObject()) + '\n';
        CHECK(app.getState({.thread_id = "t"}).values == outcome.values);
    }
    return text + golden::rowsOf(*store.open());
}

}  // namespace

TEST_CASE("the log of shared JSON is that of copied JSON byte for byte, on every saver and for every driver") {
    const std::uint64_t first = tests::seed();
    std::uint64_t seed = first;
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        for (const auto durability : {sg::Durability::sync, sg::Durability::exit}) {
            ++seed;
            INFO("repeat with STATEGRAPH_TEST_SEED=" << first);
            std::string wanted;
            const auto compare = [&](const drivers::Driver& by, const std::vector<Hold>& holds, bool on_each = true) {
                const auto on = [&](savers::Store& store) {
                    const std::string log = stored(store, by, holds, seed, durability);
                    if (wanted.empty()) wanted = log;
                    CHECK(log == wanted);
                };
                if (on_each) return savers::onEach(on);
                savers::MemoryStore memory;
                on(memory);
            };
            // Whether a log is the same on every saver depends neither on the driver nor on the pair.
            const bool is_first = seed <= first + 2;
            compare(drivers::blocking(), {Hold::copied, Hold::copied}, is_first);
            compare(driver, {Hold::shared, Hold::shared});
            compare(driver, {Hold::copied, Hold::shared}, is_first);
            CHECK(wanted.find("commit\t") != std::string::npos);
        }
    }
}
