#include <functional>
#include <map>

#include <doctest/doctest.h>

#include <stategraph/graph_description.hpp>

#include "tests/evolution/shop.hpp"
#include "tests/support/history_savers.hpp"

// What a new version of a program refuses before it writes anything, and that checkCompatibility predicts it.
namespace sg = stategraph;
using namespace history;

namespace {

/// Represents a version of the program without its type.
struct Speaker {
    std::function<std::vector<sg::IncompatibleThread>()> check;
    /// Returns what RESUME of a thread throws; empty for nothing, or for a node's own failure.
    std::function<std::string(const std::string& thread)> resume;
    /// The same by the names of nodes alone.
    std::function<std::vector<sg::IncompatibleThread>()> check_described;
};

template <class S, class Inner = shop::Inner, class Payload = std::string>
Speaker speaker(const SharedSaver& saver, const shop::Version& version) {
    const auto app = shop::Program<S, Inner, Payload>(saver, version).graph();
    return {[app, saver] { return sg::checkCompatibility(*saver, app); },
            [app](const std::string& thread) -> std::string {
                try {
                    app.invoke(sg::RESUME, {.thread_id = thread});
                } catch (const sg::Error& error) {
                    return error.message();
                }
                return {};
            },
            [app, saver] {
                // As a file has them.
                const std::string json = sg::toJson(sg::describeGraphs(app));
                return sg::checkCompatibility(*saver, sg::fromJson<std::vector<sg::GraphDescription>>(json));
            }};
}

/// The refused threads, with the node and the channel that are the reason.
using Refused = std::map<std::string, std::pair<std::string, std::string>>;

struct Change {
    const char* about;
    std::function<Speaker(const SharedSaver&)> version;
    Refused refused;
};

template <class S, class Inner = shop::Inner, class Payload = std::string>
std::function<Speaker(const SharedSaver&)> as(const shop::Version& version = {}) {
    return [version](const SharedSaver& saver) { return speaker<S, Inner, Payload>(saver, version); };
}

const std::map<std::string, std::string> all_renamed{
    {"one", "Eins"},   {"two", "Zwei"},      {"after", "Danach"}, {"left", "z"},
    {"both", "a"},     {"late", "Spaet"},    {"long", "Lang"},    {"split", "Teile"},
    {"fin", "Fertig"}, {"sends", "schickt"}, {"ask", "frage"},    {"work", "arbeite"},
    {"sub", "innen"},  {"mem", "immer"},     {"first", "zuerst"}, {"second", "dann"}};
const Refused to_due_nodes{{"due", {"two", ""}}, {"join", {"two", ""}}, {"deferred", {"two", ""}}};

std::vector<Change> changes() {
    using namespace shop;
    Refused by_type;
    for (const char* thread : {"sibling"}) by_type[thread] = {"fin", "note"};
    by_type["command"] = {"", "note"};
    return {
        {"nothing", as<Old>(), {}},
        {"labels, metadata and retry policies", as<Old>({.labels = true}), {}},
        {"nodes added, which changes the order of names", as<Old>({.more_nodes = true}), {}},
        {"reducers changed, a channel added", as<Reduced>(), {}},
        {"a channel renamed", as<Remark>(), {}},
        {"every node renamed", as<Old>({.renamed = all_renamed}), {}},
        {"a node removed where nobody is", as<Old>({.without = {"one", "both"}}), {}},
        {"due nodes removed", as<Old>({.without = {"two"}}), to_due_nodes},
        {"due nodes renamed without a word", as<Old>({.renamed = {{"two", "Zwei"}}, .says_so = false}), to_due_nodes},
        {"a node that waits to run last removed",
         as<Old>({.without = {"late"}}),
         {{"join", {"late", ""}}, {"deferred", {"late", ""}}}},
        {"the node that asks removed",
         as<Old>({.without = {"ask"}}),
         {{"question", {"ask", ""}}, {"sibling", {"ask", ""}}, {"sends later", {"ask", ""}}, {"command", {"ask", ""}}}},
        {"a node removed that a finished task leads to", as<Old>({.without = {"after"}}), {{"sibling", {"after", ""}}}},
        {"a node removed that Sends go to",
         as<Old>({.without = {"work"}}),
         {{"send", {"work", ""}}, {"sends later", {"work", ""}}}},
        {"another payload", as<Old, Inner, int>(), {{"send", {"work", ""}}, {"sends later", {"work", ""}}}},
        {"a node removed inside",
         as<Old>({.without = {"second"}}),
         {{"inner", {"second", ""}}, {"memory", {"second", ""}}}},
        {"a node removed inside that has run", as<Old>({.without = {"first"}}), {}},
        {"subgraphs removed", as<Old>({.without = {"sub", "mem"}}), {{"inner", {"sub", ""}}, {"memory", {"mem", ""}}}},
        {"a channel of another type inside", as<Old, IntInner>(), {{"inner", {"sub", "w"}}, {"memory", {"mem", "w"}}}},
        {"a channel removed", as<NoNote>(), by_type},
        {"a channel of another type", as<IntNote>(), by_type},
    };
}

/// Counts what reaches another saver.
class Watched final : public sg::BaseCheckpointSaver {
public:
    explicit Watched(SharedSaver inner) : inner_(std::move(inner)) {}
    std::size_t puts = 0;
    /// Whether it lists like a saver without pages, which violates the contract.
    bool pages = true;

    void put(const sg::PutRequest& request) override {
        ++puts;
        inner_->put(request);
    }
    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
        return inner_->getTuple(query);
    }
    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override {
        if (pages) return inner_->list(query);
        sg::ListQuery plain = query;
        plain.after_thread_id.reset();
        return inner_->list(plain);
    }
    void deleteThread(std::string_view thread) override { inner_->deleteThread(thread); }
    void copyThread(std::string_view from, std::string_view to) override { inner_->copyThread(from, to); }
    std::size_t prune(const sg::PruneRequest& request) override { return inner_->prune(request); }
    bool putIsSlow() const noexcept override { return false; }

private:
    SharedSaver inner_;
};

std::set<std::string> threadsOf(sg::BaseCheckpointSaver& saver) {
    std::set<std::string> threads;
    for (const auto& row : saver.list({})) threads.insert(row.thread_id);
    return threads;
}

sg::Value answer() { return sg::Value("yes"); }

}  // namespace

// Number 14 of the wishes of users.
TEST_CASE(
    "rename, add, remove a state field and a node with threads in flight: checkCompatibility predicts each outcome, "
    "labels break nothing") {
    for (const Change& change : changes()) {
        CAPTURE(change.about);
        onBothSavers([&](const SharedSaver& inner) {
            shop::Program<shop::Old>(inner, {}).leaveThreads();
            const auto saver = std::make_shared<Watched>(inner);
            const Speaker version = change.version(saver);
            const Bytes before = bytesOf(*inner);
            std::map<std::string, sg::IncompatibleThread> predicted;
            for (auto& each : version.check()) {
                CHECK(predicted.count(each.thread_id) == 0);
                predicted[each.thread_id] = each;
            }
            std::set<std::string> described;
            for (const auto& each : version.check_described()) {
                CAPTURE(each.thread_id);
                CHECK(described.insert(each.thread_id).second);
                REQUIRE(predicted.count(each.thread_id) == 1);  // what it refuses, a run refuses
                CHECK(predicted[each.thread_id].node == each.node);
                CHECK(predicted[each.thread_id].checkpoint_ns == each.checkpoint_ns);
                CHECK(predicted[each.thread_id].checkpoint_id == each.checkpoint_id);
            }
            for (const auto& [thread, each] : predicted) {
                CAPTURE(thread);
                const bool names_node =
                    mentions(each.why, {"no such node"}) || mentions(each.why, {"does not have: add"});
                const bool is_of_kind = mentions(each.why, {"is stored as another type than it has now"});
                CHECK((described.count(thread) == 1) == (names_node || is_of_kind));
            }
            CHECK(bytesOf(*inner) == before);
            CHECK(saver->puts == 0);
            const auto threads = threadsOf(*inner);
            REQUIRE(threads.size() == 11);
            for (const auto& thread : threads) {
                CAPTURE(thread);
                saver->puts = 0;
                const std::string why = version.resume(thread);
                const auto found = predicted.find(thread);
                const auto expected = change.refused.find(thread);
                REQUIRE((found != predicted.end()) == (expected != change.refused.end()));
                if (found == predicted.end()) {
                    CHECK(why == "");
                    continue;
                }
                CHECK(found->second.why == why);
                CHECK(found->second.node == expected->second.first);
                CHECK(found->second.channel == expected->second.second);
                CHECK(mentions(
                    why, {"'" + (found->second.channel.empty() ? found->second.node : found->second.channel) + "'"}));
                CHECK(saver->puts == 0);
                const auto& at = found->second;
                CHECK(before.count(thread + "/" + at.checkpoint_ns + "/" + at.checkpoint_id.toString()) == 1);
            }
        });
    }
}

TEST_CASE("an answer or another Command is refused too before it is stored, and new input is taken") {
    onBothSavers([](const SharedSaver& inner) {
        shop::Program<shop::Old>(inner, {}).leaveThreads();
        const auto saver = std::make_shared<Watched>(inner);
        const auto app = shop::Program<shop::Old>(saver, {.without = {"after", "second", "work"}}).graph();
        const auto refused = [&](const std::string& thread, const sg::Command<shop::Old>& command,
                                 const std::string& name) {
            CAPTURE(thread);
            saver->puts = 0;
            CHECK(mentions(
                errorOf<sg::InvalidArgumentError>([&] { return app.invoke(command, {.thread_id = thread}); }), {name}));
            CHECK(saver->puts == 0);
        };
        refused("sibling", {.resume = answer()}, "'after'");
        refused("inner", {.resume = answer()}, "'second'");
        refused("memory", {.resume = answer()}, "'second'");
        refused("send", {.update = shop::said<shop::Old>("x")}, "'work'");
        refused("send", {.go_to = {"one"}}, "'work'");
        refused("sends later", {.resume = answer()}, "'work'");
        for (const std::string thread : {"sibling", "inner", "memory", "send", "sends later"}) {
            CAPTURE(thread);
            CHECK(app.invoke(shop::said<shop::Old>("new"),
                             {.thread_id = thread, .interrupt_before = {"ask", "sub", "split"}})
                      .values.v.size() > 1);
        }
        CHECK(sg::checkCompatibility(*saver, app).empty());
    });
}

TEST_CASE("what a replay or a goto does not need is not asked for") {
    onBothSavers([](const SharedSaver& saver) {
        shop::Program<shop::Old>(saver, {}).leaveThreads();
        const auto app = shop::Program<shop::Old>(saver, {.without = {"after", "second"}}).graph();
        // The newest checkpoint keeps its results, and that of "fin" leads to a node that does not exist.
        const auto at = app.getStateHistory({.thread_id = "sibling"}).begin()->config;
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return app.invoke(sg::RESUME, at); }), {"'after'"}));
        // The subgraph begins with a new state.
        const auto inner = app.getStateHistory({.thread_id = "inner"}).begin()->config;
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return app.invoke(sg::RESUME, inner); }), {"'second'"}));
        const auto past = historyOf(app, {.thread_id = "inner"}).back().config;
        CHECK((app.invoke(sg::RESUME, past).status == sg::Status::done));
        const auto result = app.invoke(sg::Command<shop::Old>{.go_to = {"one"}}, {.thread_id = "memory"});
        CHECK((result.status == sg::Status::done));
    });
}

TEST_CASE("checkCompatibility asks for pages of threads, and says so of a saver that gives none") {
    const auto saver = std::make_shared<Watched>(std::make_shared<sg::MemorySaver>());
    const auto app = chainOf({"a", "b"}).compile({.checkpointer = saver, .interrupt_before = {"b"}});
    for (int i = 0; i < 600; ++i) app.invoke(says("i"), {.thread_id = std::to_string(i)});
    const auto changed = chainOf({"a", "c"}).compile();
    {
        std::set<std::string> found;
        for (const auto& each : sg::checkCompatibility(*saver, changed)) CHECK(found.insert(each.thread_id).second);
        CHECK(found.size() == 600);
        const auto one = sg::checkCompatibility(*saver, changed, {.thread_id = "77"});
        REQUIRE(one.size() == 1);
        CHECK(one[0].thread_id == "77");
        CHECK(one[0].node == "b");
        CHECK(sg::checkCompatibility(*saver, changed, {.thread_id = "no such thread"}).empty());
        CHECK(sg::checkCompatibility(*saver, app).empty());
        saver->pages = false;
        CHECK_THROWS_AS(sg::checkCompatibility(*saver, changed), sg::SaverError);
        CHECK_THROWS_AS(saver->unfinishedThreads(), sg::SaverError);
    }
}
