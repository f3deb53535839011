// A chat about a shop's documents that knows its users: passages that fit a message are added to the instructions of
// the model (RAG), and what a user has said in one conversation is known in the next.
//
//     message ──► recall (facts of the user) ──► retrieve (passages) ──► model ──► answer
//                                                                          └─► remember_fact, a tool
//
// A script takes the place of the model, and counted words that of an embedder; model::openai({…}) and
// model::embedWith(model::openaiEmbeddings({…})) are the real ones.
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/agent/memory.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/sqlite_saver.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

// [begin embed]
constexpr std::vector<std::string>::size_type dims = 64;
std::vector<std::vector<float>> embed(std::span<const std::string> texts) {
    static std::vector<std::string> known;  // a word's place in all vectors; the calls of a store come one at a time
    std::vector<std::vector<float>> vectors;
    for (std::string text : texts) {
        std::ranges::replace_if(
            text, [](char c) { return c < 'a' || c > 'z'; }, ' ');
        std::vector<float>& vector = vectors.emplace_back(dims, 0.0F);
        std::istringstream words(text);
        for (std::string word; words >> word;) {
            if (word.size() < 4) continue;
            const auto found = std::ranges::find(known, word);
            vector[static_cast<std::size_t>(found - known.begin()) % dims] += 1;
            if (found == known.end()) known.push_back(word);
        }
    }
    return vectors;
}
// [end embed]

struct Passage {
    std::string text = {};
    static constexpr auto fields() { return sg::fields<&Passage::text>(); }
};

// [begin retrieve]
// Adds the passages that fit what the user has said to the instructions of a turn.
agent::Middleware retrieve(std::shared_ptr<sg::BaseStore> store) {
    return {.name = "retrieve", .before_model = [store](agent::ModelCall& call) {
                const auto& sent = call.sent();
                const auto asked = std::find_if(sent.rbegin(), sent.rend(),
                                                [](const auto& each) { return each.role == model::Role::user; });
                if (asked == sent.rend()) return;
                call.instructions += "\nPassages:";
                for (const auto& found :
                     store->search({.namespace_prefix = {"documents"}, .query = asked->text(), .limit = 2})) {
                    if (found.score.value_or(0) > 0.2) call.instructions += "\n- " + found.as<Passage>().text;
                }
            }};
}
// [end retrieve]

// The script of the model: it says what it was given, and remembers what users tell.
model::Message answers(const model::Request& request) {
    const model::Message& last = request.messages.back();
    if (last.result) return model::assistant(last.result->is_error ? last.result->text() : "I will remember that.");
    if (last.text().starts_with("I ")) {
        return model::assistant({{{}, "c1", "remember_fact", R"({"fact":")" + last.text() + "\"}"}});
    }
    std::string known;
    std::istringstream lines{std::string(request.instructions)};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("- ")) known += (known.empty() ? "" : " | ") + line.substr(2, line.find(" (id ") - 2);
    }
    return model::assistant(known.empty() ? "I do not know." : "I read: " + known);
}

int main() {
    // [begin store]
    sg::StoreOptions options;
    options.index = sg::IndexConfig{.dims = dims, .embed = embed, .fields = {"text"}};
    const auto store = std::make_shared<sg::MemoryStore>(options);  // or in SQLite, RocksDB, PostgreSQL
    store->put({"documents"}, "returns", Passage{"parcels can be sent back within thirty days"});
    store->put({"documents"}, "delivery", Passage{"parcels are delivered within three days"});
    store->put({"documents"}, "tea", Passage{"green leaves are grown in japan"});
    // [end store]

    // [begin agent]
    const agent::Memory memory =
        agent::memory({.user = [](sg::Runtime& runtime) { return runtime.context<std::string>(); }});
    const agent::Agent chat({
        .model = model::scripted(answers),
        .instructions = "Answer from the passages and from what you know of the user.",
        .tools = memory.tools,
        .middleware = {memory.recall, retrieve(store)},
        .compile = {.checkpointer = std::make_shared<sg::SqliteSaver>("chats.db"), .store = store},
    });
    // [end agent]

    const auto say = [&](const std::string& user, const std::string& thread, const std::string& text) {
        const auto turn = chat.say(text, {.thread_id = thread, .context = user});
        std::cout << user << ", " << thread << ": " << text << "\n  " << turn.values.text() << "\n";
    };
    say("ada", "monday", "when are parcels delivered?");
    say("ada", "monday", "I always drink green leaves");
    say("ada", "friday", "what leaves do you have for me?");  // another conversation
    say("bob", "friday of bob", "what leaves do you have for me?");
}
