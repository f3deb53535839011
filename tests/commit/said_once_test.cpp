#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/encrypted_saver.hpp>
#include <stategraph/json.hpp>
#include <stategraph/messages.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/golden/rows.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/encryption.hpp"
#include "tests/support/fixed_ids.hpp"
#include "tests/support/savers.hpp"

// A value that a run is given, or that a task writes, is in the log only once.
namespace sg = stategraph;

namespace said_once {

const std::string asked(100, 'q');
const std::string answered(100, 'a');

struct Chat {
    std::string topic = {};
    std::vector<sg::Message> messages = {};
    std::vector<std::string> notes = {};
    std::map<std::string, std::string> facts = {};

    static constexpr auto channels() {
        return sg::channels(sg::channel<&Chat::topic>(), sg::channel<&Chat::messages>(sg::addMessages),
                            sg::channel<&Chat::notes>(sg::append), sg::channel<&Chat::facts>(sg::merge));
    }
};

sg::Update<Chat> inputOf(const std::string& text) {
    return {sg::add<&Chat::messages>(sg::Message{"user", text}), sg::set<&Chat::topic>("topic " + text),
            sg::add<&Chat::notes>("note " + text), sg::add<&Chat::facts>({{"fact", "fact " + text}})};
}

auto compiled(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<Chat> graph;
    graph.addNode("answer",
                  [](const Chat&) {
                      return sg::add<&Chat::messages>(sg::Message{"ai", answered});
                  })
        .addEdge(sg::START, "answer")
        .addEdge("answer", sg::END);
    return graph.compile({.checkpointer = std::move(saver), .ids = FixedIds::make()});
}

/// Returns how often a text is in the records of all commits and pending writes.
std::size_t timesIn(sg::BaseCheckpointSaver& saver, const std::string& text) {
    std::size_t times = 0;
    for (const auto& row : saver.list({.with_writes = true})) {
        std::string bytes(row.bytes);
        for (const auto& write : row.writes) bytes += write.bytes;
        for (std::size_t at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) ++times;
    }
    return times;
}

/// Returns every checkpoint as JSON, newest first.
template <class App>
std::string historyOf(const App& app, const std::string& thread) {
    std::string text;
    for (const auto& snapshot : app.getStateHistory({.thread_id = thread})) text += sg::toJson(snapshot) + '\n';
    return text;
}

TEST_CASE("what a run is given and what its task writes are in the log once, with every driver") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto app = compiled(saver);
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto outcome = driver.run(app, inputOf(asked), {.thread_id = "t"});
            REQUIRE(outcome.what() == "");
            CHECK(outcome.values.messages.back().content == answered);
            CHECK(timesIn(*saver, asked) == 4);  // one for each channel
            CHECK(timesIn(*saver, answered) == 1);
            const auto state = app.getState({.thread_id = "t"}).values;
            CHECK(sg::toJson(state) == sg::toJson(outcome.values));
            CHECK(state.messages.size() == 2);
            saver->deleteThread("t");
        }
    });
}

TEST_CASE("a history says what each task wrote, and a replay and a fork begin with it") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto app = compiled(saver);
        app.invoke(inputOf(asked), {.thread_id = "t"});
        auto history = app.getStateHistory({.thread_id = "t"});
        std::vector<sg::StateSnapshot<Chat>> all;
        for (const auto& snapshot : history) all.push_back(snapshot);
        REQUIRE(all.size() == 3);
        const sg::StateSnapshot<Chat>& taken = all[1];
        const sg::StateSnapshot<Chat>& input = all[2];
        CHECK(input.values.messages.empty());
        REQUIRE(input.tasks.size() == 1);
        const std::string result = input.tasks.front().result.toJson();
        CHECK(result.find(asked) != std::string::npos);
        CHECK(result.find("note " + asked) != std::string::npos);
        REQUIRE(taken.tasks.size() == 1);
        CHECK(taken.tasks.front().result.toJson().find(answered) != std::string::npos);
        CHECK(taken.values.messages.size() == 1);
        CHECK(taken.values.facts.at("fact") == "fact " + asked);

        const auto replayed = app.invoke(sg::RESUME, input.config);
        CHECK(replayed.values.messages.size() == 2);
        CHECK(replayed.values.messages.front() == taken.values.messages.front());
        const sg::Config edited = app.updateState(taken.config, sg::set<&Chat::topic>("other"));
        CHECK(app.getState(edited).values.messages == taken.values.messages);
        CHECK(app.getState(edited).values.topic == "other");
        const sg::Config forked = app.updateState(input.config, sg::set<&Chat::topic>("before"));
        CHECK(app.getState(forked).values.messages.empty());
    });
}

TEST_CASE("a run that another process resumes at its input stores the bytes that one process stores") {
    struct Dies {};
    const auto run = [](savers::Store& store, bool dies) {
        const auto stopped = std::make_shared<bool>(!dies);
        const auto make = [&stopped](std::shared_ptr<sg::BaseCheckpointSaver> saver) {
            sg::StateGraph<Chat> graph;
            graph.addNode("answer",
                          [](const Chat&) {
                              return sg::add<&Chat::messages>(sg::Message{"ai", answered});
                          })
                .addConditionalEdges(sg::START,
                                     [stopped](const Chat&) -> sg::Target {
                                         if (!std::exchange(*stopped, true)) throw Dies();
                                         return "answer";
                                     })
                .addEdge("answer", sg::END);
            return graph.compile({.checkpointer = std::move(saver), .ids = FixedIds::make()});
        };
        if (dies) {
            CHECK_THROWS(make(store.open()).invoke(inputOf(asked), {.thread_id = "t"}));
            make(store.open()).invoke(sg::RESUME, {.thread_id = "t"});
        } else {
            make(store.open()).invoke(inputOf(asked), {.thread_id = "t"});
        }
        CHECK(timesIn(*store.open(), asked) == 4);
        std::vector<std::string> commits;
        for (const auto& row : store.open()->list({})) commits.push_back(golden::hexOf(row.bytes));
        return commits;
    };
    savers::onEach([&](savers::Store& store) {
        const std::vector<std::string> one = run(store, false);
        store.open()->deleteThread("t");
        const std::vector<std::string> two = run(store, true);
        REQUIRE(one.size() == 3);
        REQUIRE(two.size() == 3);
        // After a resume the ids differ, but what it stores has the same size, and the input has the same bytes.
        CHECK(one.back() == two.back());
        for (std::size_t i = 0; i < 3; ++i) CHECK(one[i].size() == two[i].size());
    });
}

TEST_CASE("a prune that drops the input writes the commit that took it whole") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto app = compiled(saver);
        app.invoke(inputOf(asked), {.thread_id = "t"});
        app.invoke(inputOf("second " + asked), {.thread_id = "t"});
        const std::string before = historyOf(app, "t");
        saver->prune({.thread_id = "t", .keep_last = 2});
        const std::string after = historyOf(app, "t");
        CHECK(saver->list({}).size() == 2);
        CHECK(!after.empty());
        const auto state = app.getState({.thread_id = "t"}).values;
        CHECK(state.messages.size() == 4);
        CHECK(state.notes == std::vector<std::string>{"note " + asked, "note second " + asked});
        CHECK(before.starts_with(after.substr(0, after.find('\n'))));
        app.invoke(inputOf("third " + asked), {.thread_id = "t"});
        CHECK(app.getState({.thread_id = "t"}).values.messages.size() == 6);
    });
}

TEST_CASE("encrypted records name their parent's input too") {
    const auto inner = std::make_shared<sg::MemorySaver>();
    const auto saver = std::make_shared<sg::EncryptedSaver>(inner, encryption::key("k"));
    const auto app = compiled(saver);
    const auto values = app.invoke(inputOf(asked), {.thread_id = "t"}).values;
    CHECK(timesIn(*saver, asked) == 4);
    CHECK(timesIn(*inner, asked) == 0);
    CHECK(sg::toJson(app.getState({.thread_id = "t"}).values) == sg::toJson(values));
    // No one may put such a record in the place of a sealed one.
    const auto plain = std::make_shared<sg::MemorySaver>();
    compiled(plain).invoke(inputOf(asked), {.thread_id = "t"});
    const auto other = std::make_shared<sg::EncryptedSaver>(plain, encryption::key("k"));
    CHECK_THROWS_AS(compiled(other).getState({.thread_id = "t"}), sg::CorruptCheckpointError);
}

TEST_CASE("messages of a JSON state are in the log once") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        sg::JsonSchema schema;
        schema.channel("messages", sg::JsonReducer::messages());
        sg::StateGraph<sg::JsonState> graph(schema);
        const auto message = [](const char* role, const std::string& text) {
            const boost::json::value said = boost::json::object{{"role", role}, {"content", text}};
            return sg::Update<sg::JsonState>{sg::write("messages", boost::json::array{said})};
        };
        graph.addNode("answer", [message](const sg::JsonState&) { return message("ai", answered); })
            .addEdge(sg::START, "answer")
            .addEdge("answer", sg::END);
        const auto app = graph.compile({.checkpointer = saver});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto outcome = driver.run(app, message("user", asked), {.thread_id = "t"});
            REQUIRE(outcome.what() == "");
            CHECK(timesIn(*saver, asked) == 1);
            CHECK(timesIn(*saver, answered) == 1);
            CHECK(app.getState({.thread_id = "t"}).values == outcome.values);
            saver->deleteThread("t");
        }
    });
}

}  // namespace said_once
