// NOT WITH: sanitize=thread
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <stategraph/messages.hpp>
#include <stategraph/stategraph.hpp>

#include "src/checkpoint/record.hpp"

// A commit contains each new message once, in the operation on the list. What its task wrote is the same.
namespace sg = stategraph;
namespace checkpoint = stategraph::checkpoint;

namespace {

struct Chat {
    std::vector<sg::Message> messages = {};
    static constexpr auto channels() { return sg::channels(sg::channel("messages", &Chat::messages, sg::addMessages)); }
};

sg::Message said(const std::string& text, const std::string& id) { return {.role = "user", .content = text, .id = id}; }

/// Returns the items of all lists, one after the other.
std::string itemsOf(const std::vector<std::string_view>& lists) {
    std::string items;
    for (const std::string_view list : lists) {
        sg::Decoder in(list);
        in.array();
        items += in.rest();
    }
    return items;
}

struct Stored {
    bool has_writes = false;  // a list of its own of what the task wrote
    std::string written;      // the items that the task wrote, as read
    std::string appended;     // those of the operation; empty: it is another one
};

/// Runs one node that writes this, and returns what its commit contains; `after` receives the state.
Stored run(const sg::Update<Chat>& update, std::vector<sg::Message>& after) {
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::StateGraph<Chat> graph;
    graph.addNode("write", [&update](const Chat&) { return update; });
    graph.addEdge(sg::START, "write").addEdge("write", sg::END);
    const auto app = graph.compile({.checkpointer = saver});
    after = app.invoke({sg::add<&Chat::messages>(said("first", "1"))}, {.thread_id = "t"}).values.messages;
    CHECK(app.getState({.thread_id = "t"}).values.messages == after);  // what is read back is what was there

    const sg::ListedCheckpoint newest = saver->list({.thread_id = "t"}).front();
    const checkpoint::CommitFields commit =
        checkpoint::readCommit({newest.thread_id, newest.checkpoint_ns, newest.id, {}}, newest.bytes);
    const auto operations = checkpoint::readOperations(commit.operations);
    REQUIRE(operations.size() == 1);
    std::vector<std::string_view> written;
    const std::vector<checkpoint::LoggedWrite> writes = checkpoint::readCommitWrites(commit);
    for (const auto& write : writes) written.push_back(write.value);
    if (!commit.writes) written.push_back(operations.front().value);
    Stored stored{commit.writes.has_value(), itemsOf(written), {}};
    if (operations.front().op == checkpoint::LogOp::append) stored.appended = itemsOf({operations.front().value});
    return stored;
}

}  // namespace

TEST_CASE("messages that only come last are stored once, and are the same bytes as the task's") {
    std::vector<sg::Message> after;
    for (const std::size_t count : {1U, 2U, 4U, 5U, 9U}) {  // more than are remembered, too
        CAPTURE(count);
        sg::Update<Chat> update;
        for (std::size_t i = 0; i < count; ++i)
            update.with(sg::add<&Chat::messages>(said(std::string(40 + 60 * i, 'x'), "new" + std::to_string(i))));
        const Stored stored = run(update, after);
        CHECK(after.size() == count + 1);
        CHECK(!stored.appended.empty());
        // A single list of messages is the operation; several writes are kept as they were made.
        CHECK(stored.has_writes == (count > 1));
        CHECK(stored.appended == stored.written);
    }
}

TEST_CASE("messages that are replaced or removed are an edit, and no bytes of writes are taken for it") {
    std::vector<sg::Message> after;
    const Stored replaced = run({sg::add<&Chat::messages>(said("second", "1"))}, after);
    CHECK(after == std::vector{said("second", "1")});
    CHECK(replaced.appended.empty());
    CHECK(replaced.has_writes);
    const Stored both =
        run({sg::add<&Chat::messages>(said("last", "2")), sg::add<&Chat::messages>(sg::removeMessage("1"))}, after);
    CHECK(after == std::vector{said("last", "2")});
    CHECK(both.appended.empty());
}
