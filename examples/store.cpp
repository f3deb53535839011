// The agent remembers in later conversations what it learns in one: each thread has its state, and all threads share a
// store.
//
//     START ──► recall ──► reply ──► learn ──► END
//
// `recall` searches the user's namespace for memories that fit the message; `learn` stores there what users say about
// themselves.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <stategraph/rocksdb_store.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Memory {
    std::string text = {};
    std::string kind = {};
    static constexpr auto fields() { return sg::fields<&Memory::text, &Memory::kind>(); }
};

struct Conversation {
    std::string user = {};
    std::string message = {};
    std::vector<std::string> known = {};
    std::vector<std::string> replies = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Conversation::user>(), sg::channel<&Conversation::message>(),
                            sg::channel<&Conversation::known>(), sg::channel<&Conversation::replies>(sg::append));
    }
};

// Takes the place of a model: counts how often a text mentions each topic. Any function that makes vectors of texts can
// be used.
std::vector<std::vector<float>> embed(std::span<const std::string> texts) {
    static const std::vector<std::vector<std::string>> topics = {{"eat", "food", "vegetarian", "dinner", "cook"},
                                                                 {"live", "city", "Rome", "home", "weather"},
                                                                 {"work", "job", "office"}};
    std::vector<std::vector<float>> vectors;
    for (const auto& text : texts) {
        auto& vector = vectors.emplace_back(topics.size(), 0.0F);
        std::istringstream words(text);
        for (std::string word; words >> word;) {
            for (std::size_t i = 0; i < topics.size(); ++i) {
                if (std::find(topics[i].begin(), topics[i].end(), word) != topics[i].end()) vector[i] += 1;
            }
        }
    }
    return vectors;
}

sg::Update<Conversation> recall(const Conversation& state, sg::Runtime& runtime) {
    std::vector<std::string> known;
    for (const auto& item : runtime.store().search({.namespace_prefix = {"users", state.user},
                            .filter = sg::where("kind").eq("fact"),
                            .query = state.message,
                            .limit = 2})) {
        if (item.score.value_or(0) > 0.5) known.push_back(item.as<Memory>().text);
    }
    return {sg::set<&Conversation::known>(known)};
}

sg::Update<Conversation> reply(const Conversation& state) {
    std::string text = state.user + ", I know nothing of that yet.";
    if (!state.known.empty()) text = state.user + ", I remember: " + state.known.front() + ".";
    return {sg::add<&Conversation::replies>(text)};
}

sg::Update<Conversation> learn(const Conversation& state, sg::Runtime& runtime) {
    if (!state.message.starts_with("I ")) return {};
    // The key names the memory, so a node that runs again replaces the item and does not add another one.
    runtime.store().put({"users", state.user}, runtime.idempotencyKey("memory"), Memory{state.message, "fact"});
    return {};
}

int main() {
    sg::StateGraph<Conversation> graph;
    graph.addSequence("recall", recall, "reply", reply, "learn", learn);
    graph.setEntryPoint("recall").setFinishPoint("learn");

    {
        sg::StoreOptions options;
        options.index = sg::IndexConfig{.dims = 3, .embed = embed, .fields = {"text"}};
        const auto store =
            std::make_shared<sg::RocksDBStore>("memories", options);  // a folder; created if it does not exist
        const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .store = store});
        const auto say = [&](const std::string& thread, const std::string& user, const std::string& message) {
            const auto result = app.invoke(
                {sg::set<&Conversation::user>(user), sg::set<&Conversation::message>(message)}, {.thread_id = thread});
            std::cout << "[" << thread << "] " << user << ": " << message << "\n     " << result.values.replies.back()
                      << "\n";
        };
        say("thread 1", "Alice", "I eat vegetarian food");
        say("thread 1", "Alice", "I live in Rome");
        say("thread 2", "Alice", "what shall I cook for dinner ?");
        say("thread 3", "Alice", "how is the weather at home ?");
        say("thread 4", "Bob", "what shall I cook for dinner ?");
    }

    std::cout << "\nThe store outlives the process, and says what is in it:\n";
    const auto store = std::make_shared<sg::RocksDBStore>("memories");
    for (const auto& ns : store->listNamespaces()) std::cout << "  " << ns.at(0) << "/" << ns.at(1) << "\n";
    for (const auto& item : store->search({.namespace_prefix = {"users"}, .filter = sg::where("text").gt("I f")})) {
        std::cout << "  " << item.value << "\n";
    }

    std::cout << "\nA store within Bob's namespace cannot name what is Alice's:\n";
    const auto bobs = sg::storeWithin(store, {"users", "Bob"});
    bobs->put({"facts"}, "1", Memory{"I work at night", "fact"}, {.ttl = std::chrono::hours(30 * 24)});
    for (const auto& item : bobs->search({}))
        std::cout << "  " << item.ns.at(0) << "/" << item.key << " " << item.value << "\n";
    try {
        bobs->search({.filter = sg::StoreFilter::parse(std::map<std::string, sg::Value>{{"$where", "1 == 1"}})});
    } catch (const sg::InvalidArgumentError& error) {
        std::cout << "  " << error.what() << "\n";
    }
}
