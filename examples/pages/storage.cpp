// What docs/encryption.md, store.md, sqlite.md, postgres.md, warm_threads.md, commands.md, reading_threads.md and
// observability.md show: where threads and memories are kept, moved, read and watched.
#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// [begin encrypted]
#include <stategraph/encrypted_saver.hpp>
// [end encrypted]
// [begin encrypted store]
#include <stategraph/encrypted_store.hpp>
// [end encrypted store]
// [begin sqlite]
#include <stategraph/sqlite_saver.hpp>
// [end sqlite]
// [begin postgres]
#include <stategraph/postgres_saver.hpp>
// [end postgres]
// [begin commands]
#include <stategraph/answer.hpp>
#include <stategraph/export.hpp>
#include <stategraph/fork.hpp>
// [end commands]
// [begin read]
#include <stategraph/read_checkpoint.hpp>
// [end read]
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/rocksdb_store.hpp>
#include <stategraph/spans.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/store_cache.hpp>

namespace sg = stategraph;
using namespace std::chrono_literals;

struct Order {
    std::string text = {};
    static constexpr auto channels() { return sg::channels<&Order::text>(); }
};

sg::StateGraph<Order> makeGraph() {
    sg::StateGraph<Order> graph;
    graph.addNode(
        "make", [](const Order& order) -> sg::Update<Order> { return {sg::set<&Order::text>("made " + order.text)}; });
    graph.addNode("approve", [](const Order&, sg::Runtime& rt) -> sg::Update<Order> {
        sg::interrupt<bool>(rt, "approve", "Serve it?");
        return {};
    });
    graph.addEdge(sg::START, "make").addEdge("make", "approve").addEdge("approve", sg::END);
    return graph;
}
const sg::Update<Order> tea = {sg::set<&Order::text>("tea")};

// A program gets its keys' bytes from a key service, or from a file that only it can read.
const std::array<unsigned char, 32> bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9};

void encrypt() {
    const auto graph = makeGraph();
    // [begin encrypted]

    const auto store = std::make_shared<sg::RocksDBSaver>("checkpoints");
    const auto saver = std::make_shared<sg::EncryptedSaver>(store, sg::EncryptionOptions::withKey("2026", bytes));
    const auto app = graph.compile({.checkpointer = saver});
    // [end encrypted]
    std::cout << app.invoke(tea, {.thread_id = "1"}).status << "\n";
    const std::string current = "2026";
    const std::map<std::string, std::array<unsigned char, 32>, std::less<>> keys = {{current, bytes}};
    // [begin keys]
    const sg::EncryptionOptions options{// To write: called once for each put.
                                        .current_key = [&] { return sg::EncryptionKey(current, keys.at(current)); },
                                        // To read, it returns any key that a record names.
                                        .find_key = [&](std::string_view id) -> std::optional<sg::EncryptionKey> {
                                            const auto found = keys.find(id);
                                            if (found == keys.end()) return std::nullopt;
                                            return sg::EncryptionKey(found->first, found->second);
                                        }};
    // [end keys]
    const auto same = makeGraph().compile({.checkpointer = std::make_shared<sg::EncryptedSaver>(store, options)});
    std::cout << same.getState({.thread_id = "1"}).values << "\n";
}

void encryptStores() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto graph = makeGraph();
    // [begin encrypted store]

    const auto keys = sg::EncryptionOptions::withKey("2026", bytes);
    sg::StoreOptions options;
    options.cipher = sg::encryptRows(keys);
    const auto memories = std::make_shared<sg::RocksDBStore>("secret memories", options);
    const auto cache = std::make_shared<sg::StoreCache>(memories);
    const auto app = graph.compile({.checkpointer = saver, .store = memories, .cache = cache});
    // [end encrypted store]
    std::cout << app.invoke(tea, {.thread_id = "1"}).status << "\n";
}

struct State {
    std::string user = {};
    std::string question = {};
    int facts = 0;
    static constexpr auto channels() { return sg::channels<&State::user, &State::question, &State::facts>(); }
};
struct Preference {
    std::string kind = {};
    int weight = 0;
    std::string text = {};
    static constexpr auto fields() { return sg::fields<&Preference::kind, &Preference::weight, &Preference::text>(); }
};

// [begin store]
sg::Update<State> remember(const State& state, sg::Runtime& runtime) {
    sg::BaseStore& store = runtime.store();  // in a subgraph: its own, else the one around it
    store.put({"users", state.user, "prefs"}, "food", Preference{"fact", 3, "vegetarian"}, {.ttl = 90 * 24h});
    const auto food = store.get<Preference>({"users", state.user, "prefs"}, "food");
    const auto facts = store.search({.namespace_prefix = {"users", state.user},
                                     .filter = sg::where("kind").eq("fact") && sg::where("weight").gte(2),
                                     .query = state.question,  // ranks by meaning, with an index
                                     .limit = 5});
    return {sg::set<&State::facts>(food ? static_cast<int>(facts.size()) : 0)};
}
// [end store]

std::vector<std::vector<float>> embed(std::span<const std::string> texts) {
    std::vector<std::vector<float>> vectors;
    for (const std::string& text : texts) {
        vectors.emplace_back(384, 0.0F).at(text.size() % 384) = 1;  // in place of a model
    }
    return vectors;
}

void keepMemories() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::StateGraph<State> graph;
    graph.addNode("remember", remember).addEdge(sg::START, "remember").addEdge("remember", sg::END);
    // [begin meaning]
    sg::StoreOptions options;
    options.index = sg::IndexConfig{.dims = 384, .embed = embed, .fields = {"text", "title", "parts[*].body"}};
    // [end meaning]
    // [begin store]

    const auto store = std::make_shared<sg::RocksDBStore>("memories", options);  // a folder of its own
    const auto app = graph.compile({.checkpointer = saver, .store = store});
    // [end store]
    const auto result =
        app.invoke({sg::set<&State::user>("ada"), sg::set<&State::question>("what does she eat?")}, {.thread_id = "1"});
    std::cout << "facts: " << result.values.facts << "\n";
}

void keepInSqlite() {
    const auto graph = makeGraph();
    // [begin sqlite]

    const auto app = graph.compile({.checkpointer = std::make_shared<sg::SqliteSaver>("threads.db")});
    // [end sqlite]
    std::cout << app.invoke(tea, {.thread_id = "1"}).status << "\n";
}

/// This needs a server: run the program with the address of one.
void keepInPostgres(const std::string& database) {
    const auto graph = makeGraph();
    // [begin postgres]

    // "postgresql://agent@db.internal/threads"
    sg::PostgresSaver::setUp(database);  // once, for instance when a new version is installed
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::PostgresSaver>(database)});
    // [end postgres]
    std::cout << app.invoke(tea, {.thread_id = "1"}).status << "\n";
}

void stayInMemory() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::StateGraph<Order> graph;
    graph.addNode("make", [](const Order&) -> sg::Update<Order> { return {}; });
    graph.addEdge(sg::START, "make").addEdge("make", sg::END);
    const auto& input = tea;
    // [begin warm]
    const auto app = graph.compile({.checkpointer = saver,
                                    .warm_threads = {.bytes_max = std::size_t{256} << 20U,  // 256 MiB
                                                     .idle_max = 30min}});
    app.invoke(input, {.thread_id = "customer-7"});           // reads the thread
    app.invoke(input, {.thread_id = "customer-7"});           // begins with what the run before it left
    const sg::WarmThreadStats stats = app.warmThreadStats();  // threads, bytes, hits, misses, evictions
    // [end warm]
    std::cout << "threads: " << stats.threads << ", hits: " << stats.hits << "\n";
}

void commandThreads() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::MemorySaver memory;
    const auto app = makeGraph().compile({.checkpointer = saver});
    const auto then = app.invoke(tea, {.thread_id = "order 7"}).config.checkpoint_id;
    // [begin commands]

    // Stores an answer; the program that has the graph continues with it.
    sg::answer(*saver, {.thread_id = "order 7"}, {{"approve", true}});
    // Goes back to that checkpoint.
    sg::fork(*saver, {.thread_id = "order 7", .checkpoint_id = then},
             {.metadata = {{"by", "Ada"}, {"what", "try again"}}});
    // Stores an input; recover() or RESUME runs it.
    app.submit({sg::set<&Order::text>("two cups")}, {.thread_id = "order 8"});

    std::ofstream file("order-7.ndjson");
    sg::exportThread(*saver, "order 7", file);  // a bug report
    file.close();
    std::ifstream back("order-7.ndjson");
    sg::importThread(memory, back);  // a test that runs on it
    // [end commands]
    for (const auto& thread : saver->unfinishedThreads())
        std::cout << thread.thread_id << " is " << toString(thread.reason) << "\n";
    std::cout << "commits of the copy: " << memory.stats().total.commits << "\n";
}

void readThreads() {
    {
        const auto saver = std::make_shared<sg::RocksDBSaver>("orders");
        makeGraph().compile({.checkpointer = saver}).invoke(tea, {.thread_id = "order-7"});
    }
    // [begin read]

    sg::RocksDBSaver saver("orders", {.read_only = true});
    const auto snapshot = sg::readCheckpoint(saver, {.thread_id = "order-7"});
    const std::string json = sg::toJson(*snapshot);  // values, tasks, questions, metadata
    // [end read]
    std::cout << snapshot->values_as_cbor << (json.empty() ? "" : " and more") << "\n";
}

void watch() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto graph = makeGraph();
    const auto& input = tea;
    // [begin spans]
    std::ofstream file("traces.jsonl");
    const auto exporter = std::make_shared<sg::OtlpJsonExporter>(file, "shop");
    const auto app = graph.compile({.checkpointer = saver, .observer = std::make_shared<sg::SpanObserver>(exporter)});
    // [end spans]
    app.invoke(input, {.thread_id = "1"});
    int durations = 0;
    std::ostringstream out;
    // [begin durations]
    for (const auto& snapshot : app.getStateHistory({.thread_id = "1"}, {.values = false})) {
        if (snapshot.took) out << "step " << snapshot.step << ": " << snapshot.took->count() << " us\n";
        for (const auto& task : snapshot.tasks) {
            if (task.took) out << "  " << task.name << ": " << task.took->count() << " us\n";
        }
    }
    // [end durations]
    const std::string text = out.str();
    for (const char c : text) durations += c == '\n' ? 1 : 0;
    std::cout << "durations: " << durations << "\n";
}

int main(int argc, char** argv) {
    encrypt();
    encryptStores();
    keepMemories();
    keepInSqlite();
    if (argc > 1) keepInPostgres(argv[1]);
    stayInMemory();
    commandThreads();
    readThreads();
    watch();
}
