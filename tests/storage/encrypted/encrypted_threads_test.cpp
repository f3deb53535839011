#include <chrono>
#include <thread>

#include "tests/storage/saver/damaged_threads.hpp"
#include "tests/support/encryption.hpp"

// Many encrypted threads: those of other keys and damaged ones are skipped, and kept commits are encrypted
// again.
using namespace damage;
using namespace std::chrono_literals;
using encryption::key;

namespace {

std::shared_ptr<sg::EncryptedSaver> seal(const std::shared_ptr<sg::BaseCheckpointSaver>& inner,
                                         const sg::EncryptionOptions& options) {
    return std::make_shared<sg::EncryptedSaver>(inner, options);
}

// A graph whose threads only grow.
graphs::App growing(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    graphs::Graph graph;
    graph.addNode("n", [](const graphs::State& state) -> graphs::Update {
        return graphs::bar(std::to_string(state.bar.size()) + std::string(200, 'x'));
    });
    graph.addEdge(sg::START, "n").addEdge("n", sg::END);
    return graph.compile({.checkpointer = saver});
}

}  // namespace

TEST_CASE("an encrypted thread that cannot be read is reported by every call over all threads") {
    savers::onEach([](savers::Store& store) {
        for (const Kind& kind : kinds()) {
            if (kind.why == nullptr) continue;
            CAPTURE(kind.name);
            const auto inner = store.open();
            const auto saver = seal(inner, key("k"));
            fill(twoNodes(saver));
            kind.put(*inner);
            if (kind.why == std::string("its checksum does not match")) {
                // Without encryption it is refused before its checksum is verified; a prune reads the part in plain
                // text.
                CHECK(saver->unfinishedThreads({.reason = sg::Status::damaged}).size() == 1);
                CHECK(saver->stats().damaged.size() == 1);
                CHECK(twoNodes(saver).recover().size() == 4);
                CHECK(saver->prune({.keep_last = 1}) > 0);
            } else {
                checkPassedOver(saver, *inner, kind.why);
            }
            for (const auto& head : inner->list({.heads = true})) inner->deleteThread(head.thread_id);
        }
    });
}

TEST_CASE("an encrypted thread is sealed for who reads it without the key, open or done") {
    savers::onEach([](savers::Store& store) {
        const auto inner = store.open();
        const auto app = twoNodes(seal(inner, key("k")));
        app.invoke(graphs::bar("x"), {.thread_id = "done"});
        app.updateState({.thread_id = "open"}, graphs::bar("x"), {.as_node = "a"});
        const auto heads = inner->list({.checkpoint_ns = "", .heads = true, .with_writes = true});
        REQUIRE(heads.size() == 2);
        for (const auto& head : heads) CHECK((statusOf(head) == sg::Status::sealed));
        CHECK(inner->unfinishedThreads({.reason = sg::Status::sealed, .thread_ids = {"done", "open"}}).size() == 2);
        CHECK(inner->unfinishedThreads({.reason = sg::Status::damaged}).empty());
    });
}

TEST_CASE("a tenant's calls over all threads pass over the threads of others and say whose key is missing") {
    savers::onEach([](savers::Store& store) {
        const auto inner = store.open();
        const auto mine = seal(inner, key("mine", 1));
        const auto others = seal(inner, key("other", 2));
        fill(twoNodes(mine));
        twoNodes(others).updateState({.thread_id = bad}, graphs::bar("x"), {.as_node = "a"});
        const auto found = mine->unfinishedThreads({.reason = sg::Status::damaged});
        REQUIRE(found.size() == 1);
        CHECK(found[0].thread_id == bad);
        CHECK(found[0].error.find("the key 'other', which find_key does not know") != std::string::npos);
        CHECK(mine->unfinishedThreads({.reason = sg::Status::in_flight}).size() == 3);
        CHECK(mine->stats().threads == 5);
        CHECK(mine->stats().damaged.size() == 1);
        CHECK(twoNodes(mine).recover().size() == 3);  // the other thread was edited
        CHECK(twoNodes(mine).recover({.edited = true}).size() == 1);
        CHECK(twoNodes(others)
                  .recover({.only = [](const sg::UnfinishedThread& thread) { return thread.thread_id == bad; },
                            .edited = true})
                  .size() == 1);
        CHECK(twoNodes(others).getState({.thread_id = bad}).values.bar.size() == 2);

        const auto rows = mine->list({.heads = true});
        CHECK(rows.size() == 6);
        for (const auto& row : rows) CHECK(row.damaged.empty() == (row.thread_id != bad));
    });
}

TEST_CASE("a prune of an encrypted thread that only grows writes kept commits anew, and they read as before") {
    savers::onEach([](savers::Store& store) {
        const auto inner = store.open();
        encryption::KeyTable keys{.seeds = {{"old", 1}, {"new", 2}}, .current = "old"};
        const auto saver = seal(inner, keys.options());
        const auto app = growing(saver);
        for (int i = 0; i < 60; ++i) app.invoke(graphs::bar("in"), {.thread_id = "chat"});
        const auto before = app.getState({.thread_id = "chat"});
        keys.current = "new";
        for (const sg::Rewrite rewrite : {sg::Rewrite::when_it_pays, sg::Rewrite::always}) {
            CHECK(saver->prune({.keep_last = 10, .rewrite = rewrite}) > (rewrite == sg::Rewrite::always ? 0 : 100));
            if (rewrite == sg::Rewrite::when_it_pays)
                for (int i = 0; i < 20; ++i) app.invoke(graphs::bar("in"), {.thread_id = "chat"});
        }
        CHECK(saver->list({.thread_id = "chat"}).size() == 10);
        CHECK(before.values.bar.size() == 120);
        CHECK(app.getState({.thread_id = "chat"}).values.bar.size() == 160);
        std::size_t past = 0;
        for (const auto& each : app.getStateHistory({.thread_id = "chat"})) {
            CHECK(std::equal(each.values.bar.begin(), each.values.bar.begin() + 120, before.values.bar.begin()));
            ++past;
        }
        CHECK(past == 10);
        for (const auto& row : inner->list({.thread_id = "chat"}))
            CHECK(row.bytes.view().find("xxxxxxxx") == std::string::npos);
        app.invoke(graphs::bar("in"), {.thread_id = "chat"});
        CHECK(app.getState({.thread_id = "chat"}).values.bar.size() == 162);
    });
}

TEST_CASE("two layers of encryption prune too") {
    const auto outer = seal(seal(std::make_shared<sg::MemorySaver>(), key("inner", 1)), key("outer", 2));
    const auto app = growing(outer);
    for (int i = 0; i < 20; ++i) app.invoke(graphs::bar("in"), {.thread_id = "chat"});
    const auto values = app.getState({.thread_id = "chat"}).values;
    outer->prune({.keep_last = 1});
    CHECK(outer->list({.thread_id = "chat"}).size() == 1);
    CHECK(app.getState({.thread_id = "chat"}).values.bar == values.bar);
}

TEST_CASE("a record that cannot be opened is not written anew, and what it is read from stays") {
    const auto inner = std::make_shared<sg::MemorySaver>();
    const auto app = growing(seal(inner, key("k", 1)));
    for (int i = 0; i < 10; ++i) app.invoke(graphs::bar("in"), {.thread_id = "chat"});
    const auto values = app.getState({.thread_id = "chat"}).values;
    seal(inner, key("k", 9))->prune({.keep_last = 1});
    CHECK(app.getState({.thread_id = "chat"}).values.bar == values.bar);
}

TEST_CASE("the encrypting saver has a retention of its own, which writes kept commits anew") {
    savers::onEach([](savers::Store& store) {
        const auto inner = store.open();
        {
            const auto app = growing(seal(inner, key("k")));
            for (int i = 0; i < 40; ++i) app.invoke(graphs::bar("in"), {.thread_id = "chat"});
        }
        sg::EncryptionOptions options = key("k");
        options.retention = sg::RetentionOptions{.keep_last = 5, .every = 1ms};
        const sg::EncryptedSaver saver(inner, options);
        while (saver.retentionReport().dropped_commits == 0 && saver.retentionReport().failed_runs == 0)
            std::this_thread::yield();
        CHECK(saver.retentionReport().failed_runs == 0);
        CHECK(saver.retentionReport().last_error.empty());
    });
    sg::EncryptionOptions wrong = key("k");
    wrong.retention = sg::RetentionOptions{};
    CHECK_THROWS_AS(sg::EncryptedSaver(std::make_shared<sg::MemorySaver>(), wrong), sg::InvalidArgumentError);
}
