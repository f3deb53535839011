#include <doctest/doctest.h>

#include <functional>

#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

namespace {

struct Chat {
    std::vector<sg::Message> messages = {};
    int turns = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Chat::messages, sg::addMessages),
                            sg::channel("turns", &Chat::turns, sg::sum));
    }
};

using Node = std::function<sg::Update<Chat>(const Chat&)>;

sg::CompiledGraph<Chat> chatGraph(std::shared_ptr<sg::MemorySaver> saver, Node node) {
    sg::StateGraph<Chat> graph;
    graph.addNode("say", [node](const Chat& chat) -> sg::Update<Chat> { return node(chat); })
        .addEdge(sg::START, "say")
        .addEdge("say", sg::END);
    return graph.compile({.checkpointer = saver});
}

std::vector<std::string> texts(const Chat& chat) {
    std::vector<std::string> all;
    for (const auto& message : chat.messages) all.push_back(message.content);
    return all;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a message without an id gets one that is the same in every repetition") {
    auto saver = std::make_shared<sg::MemorySaver>();
    auto app = chatGraph(saver, [](const Chat&) -> sg::Update<Chat> {
        return {sg::add(&Chat::messages, sg::Message{.role = "ai", .content = "hi"})};
    });
    const auto first =
        app.invoke({sg::add(&Chat::messages, sg::Message{.role = "user", .content = "hello"})}, {.thread_id = "t"});
    REQUIRE(first.values.messages.size() == 2);
    CHECK(!first.values.messages[0].id.empty());
    CHECK(first.values.messages[0].id != first.values.messages[1].id);
    // A node that runs again from its checkpoint assigns the message the id of another checkpoint; reading the
    // checkpoint again gives the same id.
    const auto read = app.getState({.thread_id = "t"});
    CHECK(read.values.messages == first.values.messages);
}

TEST_CASE("a message with a known id replaces, and one that is removed goes") {
    auto saver = std::make_shared<sg::MemorySaver>();
    auto app = chatGraph(saver, [](const Chat& chat) -> sg::Update<Chat> {
        if (chat.turns == 0)
            return {sg::add(&Chat::messages, sg::Message{.role = "ai", .content = "one", .id = "1"}),
                    sg::add(&Chat::turns, 1)};
        if (chat.turns == 1) {
            return {sg::add(&Chat::messages, {sg::Message{.role = "ai", .content = "uno", .id = "1"},
                                              sg::Message{.role = "ai", .content = "two", .id = "2"}}),
                    sg::add(&Chat::turns, 1)};
        }
        return {sg::add(&Chat::messages, sg::removeMessage("1")), sg::add(&Chat::turns, 1)};
    });
    CHECK(texts(app.invoke({sg::add(&Chat::messages, sg::Message{.role = "user", .content = "q", .id = "q"})},
                           {.thread_id = "t"})
                    .values) == Texts{"q", "one"});
    CHECK(texts(app.invoke({}, {.thread_id = "t"}).values) == Texts{"q", "uno", "two"});
    CHECK(texts(app.invoke({}, {.thread_id = "t"}).values) == Texts{"q", "two"});
    CHECK(texts(app.getState({.thread_id = "t"}).values) == Texts{"q", "two"});
    std::vector<std::size_t> sizes;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "t"}))
        sizes.push_back(snapshot.values.messages.size());
    CHECK(sizes == std::vector<std::size_t>{2, 3, 3, 3, 2, 2, 2, 1, 0});
}

TEST_CASE("removing all messages keeps those written after the removal") {
    auto saver = std::make_shared<sg::MemorySaver>();
    auto app = chatGraph(saver, [](const Chat&) -> sg::Update<Chat> {
        return {sg::add(&Chat::messages, sg::removeMessage(std::string(sg::REMOVE_ALL_MESSAGES))),
                sg::add(&Chat::messages, sg::Message{.role = "system", .content = "fresh"})};
    });
    CHECK(
        texts(app.invoke({sg::add(&Chat::messages, sg::Message{.role = "user", .content = "old"})}, {.thread_id = "t"})
                  .values) == Texts{"fresh"});
    CHECK(texts(app.getState({.thread_id = "t"}).values) == Texts{"fresh"});
}

TEST_CASE(
    "removing a message twice in a superstep is no error, and writing it again in the same write keeps it in its "
    "place") {
    const auto message = [](const char* text, const char* id) {
        return sg::Message{.role = "ai", .content = text, .id = id};
    };
    auto app = chatGraph(std::make_shared<sg::MemorySaver>(), [message](const Chat& chat) -> sg::Update<Chat> {
        if (chat.turns == 0)
            return {sg::add(&Chat::messages, {message("one", "1"), message("two", "2"), message("three", "3")}),
                    sg::add(&Chat::turns, 1)};
        if (chat.turns == 1)
            return {sg::add(&Chat::messages, {sg::removeMessage("1"), sg::removeMessage("1")}),
                    sg::add(&Chat::turns, 1)};
        if (chat.turns == 2)
            return {sg::add(&Chat::messages, {sg::removeMessage("2"), message("dos", "2")}), sg::add(&Chat::turns, 1)};
        return {sg::add(&Chat::messages, sg::removeMessage("3")), sg::add(&Chat::messages, sg::removeMessage("3"))};
    });
    CHECK(texts(app.invoke({}, {.thread_id = "t"}).values) == Texts{"one", "two", "three"});
    CHECK(texts(app.invoke({}, {.thread_id = "t"}).values) == Texts{"two", "three"});
    CHECK(texts(app.invoke({}, {.thread_id = "t"}).values) == Texts{"dos", "three"});
    CHECK(texts(app.invoke({}, {.thread_id = "t"}).values) == Texts{"dos"});
    CHECK(texts(app.getState({.thread_id = "t"}).values) == Texts{"dos"});
}

TEST_CASE("removing a message that is not there is refused, and the thread stays as it was") {
    auto saver = std::make_shared<sg::MemorySaver>();
    auto app = chatGraph(
        saver, [](const Chat&) -> sg::Update<Chat> { return {sg::add(&Chat::messages, sg::removeMessage("nobody"))}; });
    CHECK_THROWS_WITH_AS(app.invoke({sg::add(&Chat::messages, sg::Message{.role = "user", .content = "q", .id = "q"})},
                                    {.thread_id = "t"}),
                         doctest::Contains("'nobody'"), sg::InvalidUpdateError);
    CHECK(texts(app.getState({.thread_id = "t"}).values) == Texts{"q"});
}
