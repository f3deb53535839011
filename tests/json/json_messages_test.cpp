#include <random>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/messages.hpp>
#include <stategraph/shared_list.hpp>

#include "tests/support/seed.hpp"

// There is one reducer of messages for structs and for JSON: whatever is written, both have the same conversation, and
// their logs contain it.
namespace sg = stategraph;
namespace json = boost::json;

namespace {

using Messages = std::vector<sg::Message>;

template <class List>
struct Chat {
    List messages = {};
    static constexpr auto channels() { return sg::channels(sg::channel("messages", &Chat::messages, sg::addMessages)); }
};

json::array toJson(const Messages& messages) {
    json::array list;
    for (const auto& message : messages) {
        if (message.isRemoval()) {
            list.push_back({{"type", "remove"}, {"id", message.id}});
        } else {
            list.push_back({{"content", message.content}, {"id", message.id}});
        }
    }
    return list;
}

std::vector<std::string> said(const json::value& messages) {
    std::vector<std::string> all;
    for (const auto& message : messages.as_array())
        all.push_back(json::value_to<std::string>(message.at("id")) + "=" +
                      json::value_to<std::string>(message.at("content")));
    return all;
}
template <class List>
std::vector<std::string> saidIn(const List& messages) {
    std::vector<std::string> all;
    for (const auto& message : messages) all.push_back(message.id + "=" + message.content);
    return all;
}

// Returns what the tasks of one superstep write, in their order, to a conversation of `list`: each writes a few
// messages or many. Messages that are removed nearly always exist.
std::vector<Messages> anySuperstep(std::mt19937& random, const Messages& list) {
    std::vector<std::string> known;
    for (const auto& message : list) known.push_back(message.id);
    std::vector<Messages> tasks(1 + random() % 3);
    for (auto& messages : tasks) {
        const std::size_t count = random() % 8 == 0 ? 17 + random() % 20 : random() % 4;
        for (std::size_t i = 0; i < count; ++i) {
            if (random() % 50 == 0) {
                messages.push_back(sg::removeMessage(std::string(sg::REMOVE_ALL_MESSAGES)));
            } else if (random() % 4 == 0 && !known.empty()) {
                messages.push_back(sg::removeMessage(random() % 60 == 0 ? "nobody" : known[random() % known.size()]));
            } else {
                const std::string id = std::to_string(random() % 40);
                messages.push_back({.role = "ai", .content = std::to_string(random() % 100), .id = id});
                known.push_back(id);
            }
        }
    }
    return tasks;
}

// Merges by the rules, one message after the other. Returns none if an id is to be removed that never existed in this
// superstep.
std::optional<Messages> merged(Messages list, const std::vector<Messages>& tasks) {
    std::vector<std::string> gone;
    const auto find = [&](const std::string& id) {
        return std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.id == id; });
    };
    for (const auto& messages : tasks) {
        std::vector<std::string> pending;
        for (const auto& message : messages) {
            if (message.isRemoval() && message.id == sg::REMOVE_ALL_MESSAGES) {
                for (const auto& each : list) gone.push_back(each.id);
                list.clear();
                pending.clear();
            } else if (message.isRemoval()) {
                if (find(message.id) != list.end()) {
                    pending.push_back(message.id);
                } else if (std::find(gone.begin(), gone.end(), message.id) == gone.end()) {
                    return {};
                }
            } else if (const auto at = find(message.id); at != list.end()) {
                *at = message;
                std::erase(pending, message.id);
            } else {
                list.push_back(message);
            }
        }
        for (const auto& id : pending) {
            if (const auto at = find(id); at != list.end()) list.erase(at);
            gone.push_back(id);
        }
    }
    return list;
}

// Returns a graph with three tasks, each of which writes its part.
template <class S, class Write>
auto chatGraph(sg::StateGraph<S> graph, const std::vector<Messages>* now, Write write) {
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string name = "task" + std::to_string(i);
        graph
            .addNode(name,
                     [now, i, write](const S&) -> sg::Update<S> {
                         return i < now->size() ? write((*now)[i]) : sg::Update<S>();
                     })
            .addEdge(sg::START, name);
    }
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

template <class List>
auto structGraph(const std::vector<Messages>* now) {
    using S = Chat<List>;
    return chatGraph<S>(sg::StateGraph<S>(), now, [](const Messages& messages) -> sg::Update<S> {
        if (messages.size() == 1) return {sg::add(&S::messages, messages.front())};
        return {sg::add(&S::messages, List(messages.begin(), messages.end()))};
    });
}

auto jsonGraph(const std::vector<Messages>* now) {
    sg::JsonSchema schema;
    schema.channel("messages", sg::JsonReducer::messages());
    return chatGraph<sg::JsonState>(sg::StateGraph<sg::JsonState>(schema), now,
                                    [](const Messages& messages) -> sg::Update<sg::JsonState> {
                                        if (messages.size() == 1)
                                            return {sg::write("messages", toJson(messages).front())};
                                        return {sg::write("messages", toJson(messages))};
                                    });
}

// Returns the thread's messages after one more superstep, with the error's text first if it is refused.
template <class App, class Said>
std::vector<std::string> step(const App& app, Said says) {
    std::vector<std::string> all;
    try {
        const auto result = app.invoke({}, {.thread_id = "t"});
        all = says(result.values);
    } catch (const sg::InvalidUpdateError& error) {
        all = {"refused"};
        const std::string what = error.what();
        CHECK(what.find("is to be removed, and the channel has none") != std::string::npos);
        CHECK(what.find("messages") != std::string::npos);
        return all;
    }
    CHECK(says(app.getState({.thread_id = "t"}).values) == all);  // as the log says
    return all;
}

}  // namespace

TEST_CASE("messages of structs, of shared lists and of JSON are merged alike, and as the rules say") {
    const unsigned first_seed = tests::seed();
    for (unsigned seed = first_seed; seed < first_seed + 30; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        std::vector<Messages> now;
        const auto plain = structGraph<Messages>(&now);
        const auto shared = structGraph<sg::SharedList<sg::Message>>(&now);
        const auto dynamic = jsonGraph(&now);
        Messages wanted;
        for (int i = 0; i < 12; ++i) {
            CAPTURE(i);
            now = anySuperstep(random, wanted);
            const auto next = merged(wanted, now);
            const auto expected = next ? saidIn(*next) : std::vector<std::string>{"refused"};
            const auto saidBy = [](const auto& state) { return saidIn(state.messages); };
            REQUIRE(step(plain, saidBy) == expected);
            REQUIRE(step(shared, saidBy) == expected);
            REQUIRE(step(dynamic, [](const sg::JsonState& state) { return said(state["messages"]); }) == expected);
            if (next) wanted = *next;
        }
    }
}
