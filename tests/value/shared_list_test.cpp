#include <stategraph/shared_list.hpp>

#include <atomic>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/json_schema.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/seed.hpp"

namespace sg = stategraph;

namespace {

using List = sg::SharedList<std::string>;
using Strings = std::vector<std::string>;
const std::string word = "a text that does not fit into the string itself";

std::string textOf(std::size_t i) { return word + std::to_string(i); }

List listOf(std::size_t count) {
    List list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(textOf(i));
    return list;
}

}  // namespace

TEST_CASE("a copy of a list is added to in place, and the list it was copied from stays as it was") {
    List list = listOf(3);
    list.reserve(100);
    const List before = list;
    CHECK(before.isSame(list));
    list.push_back("more");
    CHECK(list.data() == before.data());
    CHECK(before == listOf(3));
    CHECK(list.toVector() == Strings{textOf(0), textOf(1), textOf(2), "more"});

    List other = before;  // another list has already used the space after its end
    other.push_back("other");
    CHECK(other.data() != list.data());
    CHECK(other.back() == "other");
    CHECK(list.back() == "more");
    CHECK(before.size() == 3);
}

TEST_CASE("an element is changed in place by the only owner, and in a copy by another") {
    List list = listOf(3);
    const std::string* const items = list.data();
    list.set(1, "changed");
    CHECK(list.data() == items);
    const List before = list;
    list.edit(1, [](std::string& text) { text += " again"; });
    CHECK(list.data() != items);
    CHECK(before.data() == items);
    CHECK(before[1] == "changed");
    CHECK(list[1] == "changed again");
    CHECK_THROWS_AS(list.set(3, "none"), sg::InvalidArgumentError);
    CHECK_THROWS_AS((void)list.at(3), sg::InvalidArgumentError);
}

TEST_CASE("what a list drops is there for its other owners, and its place is used again when they are gone") {
    List list = listOf(4);
    {
        const List all = list;
        list.truncate(2);
        CHECK(all == listOf(4));
        CHECK(list == listOf(2));
    }
    const std::string* const items = list.data();
    list.push_back("new");
    CHECK(list.data() == items);
    CHECK(list.toVector() == Strings{textOf(0), textOf(1), "new"});
    list.erase(list.begin());
    CHECK(list.toVector() == Strings{textOf(1), "new"});
    list.clear();
    CHECK(list.empty());
    CHECK(list == List());
}

TEST_CASE("a list may add its own elements, and all of another") {
    List list = listOf(4);
    for (int i = 0; i < 30; ++i) list.push_back(list.front());
    CHECK(list.back() == textOf(0));
    List more = listOf(3);
    const List kept = more;
    list.append(std::move(more));
    CHECK(kept == listOf(3));
    list.append(List(list));
    CHECK(list.size() == 74);
    CHECK(list[36] == textOf(2));
    CHECK(list[73] == textOf(2));
}

TEST_CASE("lists with any owners are what vectors would be") {
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    std::vector<std::pair<List, Strings>> all(6);
    for (std::size_t step = 0; step < 20'000; ++step) {
        auto& [list, wanted] = all[below(all.size())];
        switch (below(11)) {
            case 0:
            case 1:
            case 2:
                list.push_back(textOf(step));
                wanted.push_back(textOf(step));
                break;
            case 3: {
                const auto& [from, texts] = all[below(all.size())];
                if (wanted.size() + texts.size() > 200) break;
                const Strings added = texts;
                list.append(List(from));
                wanted.insert(wanted.end(), added.begin(), added.end());
                break;
            }
            case 4:
            case 5: {
                const auto other = all[below(all.size())];
                std::tie(list, wanted) = std::tie(other.first, other.second);
                break;
            }
            case 6:
                if (wanted.empty()) break;
                list.set(step % wanted.size(), "set");
                wanted[step % wanted.size()] = "set";
                break;
            case 7: {
                const std::size_t size = below(wanted.size() + 1);
                list.truncate(size);
                wanted.resize(size);
                break;
            }
            case 8: {
                const std::size_t first = below(wanted.size() + 1);
                const std::size_t last = first + below(wanted.size() - first + 1);
                list.erase(list.begin() + first, list.begin() + last);
                wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(first),
                             wanted.begin() + static_cast<std::ptrdiff_t>(last));
                break;
            }
            case 9: {
                const std::size_t at = below(wanted.size() + 1);
                list.insert(list.begin() + at, textOf(step));
                wanted.insert(wanted.begin() + static_cast<std::ptrdiff_t>(at), textOf(step));
                break;
            }
            default:
                list.reserve(below(300));
        }
        for (const auto& [each, texts] : all) REQUIRE(each == texts);
    }
}

TEST_CASE("copies of one list are added to by many threads at once") {
    for (int round = 0; round < 50; ++round) {
        List list = listOf(10);
        list.reserve(64);
        std::atomic<int> ready = 0;
        std::vector<List> ends(4);
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < ends.size(); ++t) {
            threads.emplace_back([&, t, own = list]() mutable {
                ++ready;
                while (ready < 4) {
                }
                for (std::size_t i = 0; i < 100; ++i) {
                    own.push_back(textOf(1000 * t + i));
                    if (i % 10 == 9) ends[t] = own;
                }
            });
        }
        for (auto& thread : threads) thread.join();
        CHECK(list == listOf(10));
        for (std::size_t t = 0; t < ends.size(); ++t) {
            REQUIRE(ends[t].size() == 110);
            for (std::size_t i = 0; i < 100; ++i) REQUIRE(ends[t][10 + i] == textOf(1000 * t + i));
        }
    }
}

namespace {

struct Failing {
    static inline int copies_left = 0;
    static inline int alive = 0;
    int value = 0;
    Failing(int v) : value(v) { ++alive; }
    Failing(const Failing& other) : value(other.value) {
        if (copies_left-- == 0) throw std::runtime_error("no more copies");
        ++alive;
    }
    Failing& operator=(const Failing&) = default;
    ~Failing() { --alive; }
    friend bool operator==(const Failing&, const Failing&) = default;
};

}  // namespace

TEST_CASE("a copy that fails changes no list and loses no element") {
    for (const bool is_shared : {false, true}) {
        for (const bool has_room : {false, true}) {
            for (int fail_at = 0; fail_at < 20; ++fail_at) {
                CAPTURE(is_shared);
                CAPTURE(has_room);
                CAPTURE(fail_at);
                Failing::copies_left = 1000;
                {
                    sg::SharedList<Failing> list{1, 2, 3};
                    if (has_room) list.reserve(50);
                    const sg::SharedList<Failing> other = is_shared ? list : sg::SharedList<Failing>();
                    const std::vector<Failing> more{4, 5, 6};
                    const std::vector<Failing> wanted{1, 2, 3};
                    const std::vector<Failing> all{1, 2, 3, 4, 5, 6};
                    Failing::copies_left = fail_at;
                    bool failed = false;
                    try {
                        list.append(more.begin(), more.end());
                    } catch (const std::runtime_error&) {
                        failed = true;
                    }
                    Failing::copies_left = 1000;
                    CHECK(list == (failed ? wanted : all));
                    CHECK((other.empty() || other == wanted));
                    list.push_back(7);
                    CHECK(list.back() == Failing(7));
                    Failing::copies_left = fail_at;
                    try {
                        list.set(0, 9);
                    } catch (const std::runtime_error&) {
                        CHECK(list.front() == Failing(1));
                    }
                    Failing::copies_left = 1000;
                }
                CHECK(Failing::alive == 0);
            }
        }
    }
}

namespace {

template <class Texts, class Messages>
struct ChatOf {
    Texts texts = {};
    Texts now = {};
    Messages messages = {};
    int n = 0;
    static constexpr auto channels() {
        return sg::channels(
            sg::channel("texts", &ChatOf::texts, sg::append), sg::channel("now", &ChatOf::now, sg::topic),
            sg::channel("messages", &ChatOf::messages, sg::addMessages), sg::channel("n", &ChatOf::n, sg::sum));
    }
};
using Copied = ChatOf<Strings, std::vector<sg::Message>>;
using Sharing = ChatOf<List, sg::SharedList<sg::Message>>;

// Adds, replaces and removes messages, while another task adds one.
template <class Chat>
sg::CompiledGraph<Chat> chat(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, sg::WarmThreads warm = {}) {
    sg::StateGraph<Chat> graph;
    graph
        .addNode("say",
                 [](const Chat& s) -> sg::Update<Chat> {
                     const sg::Message message{.role = "ai", .content = word};
                     decltype(s.messages) messages{message};
                     if (s.n % 3 == 2) {
                         messages = {message,
                                     sg::removeMessage(s.messages[0].id),
                                     {.role = "ai", .content = "new", .id = s.messages[1].id}};
                     }
                     return {sg::add(&Chat::texts, textOf(static_cast<std::size_t>(s.n))),
                             sg::add(&Chat::now, {word, "now"}), sg::add(&Chat::messages, messages),
                             sg::add(&Chat::n, 1)};
                 })
        .addNode("beside",
                 [](const Chat& s) -> sg::Update<Chat> {
                     return {sg::add(&Chat::texts, {word, std::to_string(s.texts.size())})};
                 })
        .addEdge(sg::START, "say")
        .addEdge(sg::START, "beside")
        .addConditionalEdges("say", [](const Chat& s) { return s.n % 10 != 0 ? "say" : sg::END; });
    return graph.compile({.checkpointer = saver, .warm_threads = warm});
}

template <class Chat>
std::vector<std::string> history(const sg::CompiledGraph<Chat>& app) {
    std::vector<std::string> all;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) all.push_back(snapshot.valuesAsJson());
    return all;
}

}  // namespace

TEST_CASE("threads with shared lists and with vectors are the same, and each reads the other's") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto other = std::make_shared<sg::MemorySaver>();
    const auto copied = chat<Copied>(saver);
    const auto sharing = chat<Sharing>(other, {.bytes_max = 1U << 20U});
    for (int i = 0; i < 4; ++i) {
        const auto a = copied.invoke({sg::add(&Copied::texts, textOf(99))}, {.thread_id = "t"});
        const auto b = sharing.invoke({sg::add(&Sharing::texts, textOf(99))}, {.thread_id = "t"});
        CHECK(b.values.texts == a.values.texts);
        CHECK(b.values.messages.size() == a.values.messages.size());
    }
    CHECK(sharing.warmThreadStats().hits == 3);
    const auto count = history(copied).size();
    CHECK(history(sharing).size() == count);
    const auto crossed = chat<Sharing>(saver);
    CHECK(history(crossed) == history(copied));
    CHECK(sg::checkCompatibility(*saver, crossed).empty());
    CHECK(chat<Copied>(other).getState({.thread_id = "t"}).values.texts ==
          sharing.getState({.thread_id = "t"}).values.texts.toVector());
    CHECK(sg::jsonSchema<List>() == sg::jsonSchema<Strings>());
}

TEST_CASE("the result of a run is not changed by the runs after it") {
    const auto app = chat<Sharing>(std::make_shared<sg::MemorySaver>(), {.bytes_max = 1U << 20U});
    const auto first = app.invoke({sg::add(&Sharing::texts, word)}, {.thread_id = "t"});
    const Strings texts = first.values.texts.toVector();
    const auto second = app.invoke({sg::add(&Sharing::texts, word)}, {.thread_id = "t"});
    CHECK(first.values.texts == texts);
    CHECK(second.values.texts.size() == 2 * texts.size());
    // A fork of the older checkpoint appends to the list that the first run left.
    std::vector<sg::CheckpointId> ids;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) ids.push_back(snapshot.config.checkpoint_id);
    app.invoke({sg::add(&Sharing::texts, "fork")}, {.thread_id = "t", .checkpoint_id = ids.at(12)});
    CHECK(first.values.texts == texts);
    CHECK(second.values.texts.size() == 2 * texts.size());
}
