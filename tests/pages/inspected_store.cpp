#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <stategraph/fork.hpp>
#include <stategraph/inspect/server.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>
#include "tests/support/until.hpp"

// Threads for the tests of the inspector's page, in a real database:
//
//   make FOLDER                  the threads that the page's tests know, as a program that crashed has left them
//   show FOLDER                  those of the pictures in docs/
//   long FOLDER THREAD N         a thread of N checkpoints
//   large FOLDER THREAD BYTES    a thread whose state has so many bytes
//   many FOLDER N                N threads: each thousandth asks, the others are finished
//   serve-many N KEY             the inspector over as many in memory
//   serve FOLDER KEY [--read-only] [--writer] [--open] [PORT]   the inspector inside a program, with the graph of these
//                                threads; --writer: with one whose task writes as a model does; --open: nothing is hidden
namespace sg = stategraph;

namespace inspected_store {

struct Card {
    std::string holder = {};
    std::string number = {};
    static constexpr auto fields() { return sg::fields<&Card::holder, &Card::number>(); }
};
struct Message {
    std::string role = {};
    std::string content = {};
    static constexpr auto fields() { return sg::fields<&Message::role, &Message::content>(); }
};
struct Order {
    std::string customer = {};
    Card card = {};
    std::vector<std::string> items = {};
    std::vector<Message> messages = {};
    int total = 0;
    int rounds = 0;
    std::string api_token = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Order::customer>(), sg::channel<&Order::card>(), sg::channel<&Order::items>(),
                            sg::channel<&Order::messages>(sg::append), sg::channel<&Order::total>(sg::sum),
                            sg::channel<&Order::rounds>(), sg::channel<&Order::api_token>());
    }
};
using App = sg::CompiledGraph<Order>;
using Update = sg::Update<Order>;

Update say(const std::string& role, const std::string& content) {
    return {sg::add<&Order::messages>({Message{role, content}})};
}

App compiled(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<Order> graph;
    graph
        .addNode("gather",
                 [](const Order& order) -> sg::Command<Order> {
                     sg::Targets to;
                     for (const std::string& item : order.items) to.add(sg::Send("price", item));
                     if (order.items.empty()) to.add("review");
                     return {.update = say("ai", "gathered " + std::to_string(order.items.size()) + " items"),
                             .go_to = to};
                 },
                 {.ends = {"price", "review"}})
        .addNode("price",
                 [](const std::string& item) -> Update {
                     if (item == "unicorn") throw std::runtime_error("no stock of " + item);
                     Update update = say("tool", item + " costs " + std::to_string(item.size()));
                     update.with(sg::add<&Order::total>(static_cast<int>(item.size())));
                     return update;
                 })
        .addNode("review", [](const Order&) { return say("ai", "reviewed"); }, {.defer = true})
        .addNode("approve",
                 [](const Order& order, sg::Runtime& runtime) -> sg::Command<Order> {
                     const auto text = "Pay " + std::to_string(order.total) + " for " + order.customer + "?";
                     const auto yes = sg::interrupt<std::string>(runtime, "approve", text);
                     return {.update = say("human", yes), .go_to = {yes == "yes" ? "pay" : "cancel"}};
                 },
                 {.ends = {"pay", "cancel"}})
        .addNode("pay", [](const Order&) { return say("ai", "paid"); })
        .addNode("cancel", [](const Order&) { return say("ai", "cancelled"); })
        .addEdge(sg::START, "gather")
        .addEdge("price", "review")
        .addEdge("review", "approve")
        .addEdge("pay", sg::END)
        .addEdge("cancel", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

/// A graph inside a graph, which asks: receive, and then ship, which consists of pick and pack.
struct Parcel {
    std::string customer = {};
    int boxes = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Parcel::customer>(), sg::channel<&Parcel::boxes>(sg::sum));
    }
};

App nested(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<Parcel> shipping;
    shipping.addNode("pick", [](const Parcel&) { return sg::add<&Parcel::boxes>(2); })
        .addNode("pack",
                 [](const Parcel& parcel, sg::Runtime& runtime) -> sg::Update<Parcel> {
                     const auto text = "Pack " + std::to_string(parcel.boxes) + " boxes for " + parcel.customer + "?";
                     sg::interrupt<std::string>(runtime, "pack", text);
                     return {sg::add<&Parcel::boxes>(0)};
                 })
        .addEdge(sg::START, "pick")
        .addEdge("pick", "pack")
        .addEdge("pack", sg::END);
    sg::StateGraph<Order> graph;
    graph.addNode("receive", [](const Order&) { return say("ai", "received"); })
        .addNode("ship", shipping.compile())
        .addNode("bill", [](const Order&) { return say("ai", "billed"); })
        .addEdge(sg::START, "receive")
        .addEdge("receive", "ship")
        .addEdge("ship", "bill")
        .addEdge("bill", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

/// A task that writes a message in parts, and inside a graph, as models do. It continues when a file appears in
/// `folder`, so that a test decides what it has written.
void waitFor(const std::filesystem::path& file, sg::Runtime& runtime) {
    patience::until([&] { return !(!std::filesystem::exists(file) && !runtime.stopRequested()); });
}

void emit(sg::Runtime& runtime, const std::string& id, const std::string& text) {
    runtime.emitMessage(std::map<std::string, std::string>{{"id", id}, {"role", "assistant"}, {"content", text}});
}

App writer(std::shared_ptr<sg::BaseCheckpointSaver> saver, const std::filesystem::path& folder) {
    sg::StateGraph<Parcel> thinking;
    thinking
        .addNode("think",
                 [folder](const Parcel& parcel, sg::Runtime& runtime) {
                     emit(runtime, "m3", "a second thought");
                     waitFor(folder / (parcel.customer + ".end"), runtime);
                     return sg::add<&Parcel::boxes>(1);
                 })
        .addEdge(sg::START, "think")
        .addEdge("think", sg::END);
    sg::StateGraph<Order> graph;
    graph.addNode("prepare", [](const Order&) { return say("tool", "prepared"); })
        .addNode("write",
                 [folder](const Order& order, sg::Runtime& runtime) {
                     runtime.write(std::map<std::string, std::string>{{"progress", "half"}});
                     emit(runtime, "m1", "The answer ");
                     waitFor(folder / (order.customer + ".go"), runtime);
                     emit(runtime, "m1", "is 42. </script><script>alert(1)</script>\xE2\x80\xAE");
                     waitFor(folder / (order.customer + ".end"), runtime);
                     return say("ai", "The answer is 42.");
                 })
        .addNode("deliberate", thinking.compile())
        .addNode("check", [](const Order&) { return say("tool", "checked"); })
        .addEdge(sg::START, "prepare")
        .addEdge("prepare", "write")
        .addEdge("prepare", "deliberate")
        .addEdge(std::vector<std::string>{"write", "deliberate"}, "check")
        .addEdge("check", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

Update ordered(const std::string& customer, std::vector<std::string> items) {
    Update update{sg::set<&Order::customer>(customer), sg::set<&Order::items>(std::move(items))};
    update.with(sg::set<&Order::card>(Card{customer, "4111 1111 1111 1111"}));
    update.with(sg::set<&Order::api_token>("sk-secret-" + customer));
    update.with(sg::add<&Order::messages>({Message{"human", "I am " + customer}}));
    return update;
}

void make(const std::string& folder) {
    const auto saver = std::make_shared<sg::RocksDBSaver>(folder);
    const App app = compiled(saver);
    app.invoke(ordered("Ada", {"tea", "milk"}), {.thread_id = "done"});
    app.invoke(sg::resume(std::string("yes")), {.thread_id = "done"});
    nested(saver).invoke(ordered("Hedy", {"radio"}), {.thread_id = "nested", .metadata = {{"shop", "Vienna"}}});
    app.invoke(ordered("Grace", {"tea"}),
               {.thread_id = "asks", .metadata = {{"shop", "Paris"}, {"api_token", "sk-secret-metadata"}}});
    try {
        app.invoke(ordered("Alan", {"tea", "unicorn"}), {.thread_id = "failed"});
    } catch (const sg::NodeError&) {  // as it should
    }
    // A thread that was forked and answered differently, and edited.
    app.invoke(ordered("Edsger", {"bread"}), {.thread_id = "forked"});
    app.invoke(sg::resume(std::string("yes")), {.thread_id = "forked"});
    const auto history = saver->list({.thread_id = "forked", .checkpoint_ns = ""});
    app.invoke(sg::RESUME, {.thread_id = "forked", .checkpoint_id = history.at(2).id});
    app.invoke(sg::resume(std::string("no")), {.thread_id = "forked"});
    app.updateState({.thread_id = "edited"}, ordered("Barbara", {"jam"}), {.as_node = "gather"});
    const std::string hostile = "</script><script>alert(1)</script>";
    app.invoke(ordered(hostile + "\xE2\x80\xAE"
                                 "evil\x01",
                       {hostile}),
               {.thread_id = hostile});
    app.invoke(ordered("100%/slash?&#", {"a/b"}), {.thread_id = "name/with slash?&#%"});
}

void makeShown(const std::string& folder) {
    const auto saver = std::make_shared<sg::RocksDBSaver>(folder);
    const App app = compiled(saver);
    const auto order = [&](const std::string& thread, const std::string& shop, const Update& input) {
        app.invoke(input, {.thread_id = thread, .metadata = {{"shop", shop}}});
    };
    order("order-1041", "Paris", ordered("Ada", {"tea", "milk"}));
    app.invoke(sg::resume(std::string("yes")), {.thread_id = "order-1041", .metadata = {{"shop", "Paris"}}});
    order("order-1042", "Vienna", ordered("Edsger", {"bread"}));
    app.invoke(sg::resume(std::string("yes")), {.thread_id = "order-1042"});
    const auto history = saver->list({.thread_id = "order-1042", .checkpoint_ns = ""});
    app.invoke(sg::RESUME, {.thread_id = "order-1042", .checkpoint_id = history.at(2).id});
    app.invoke(sg::resume(std::string("no")), {.thread_id = "order-1042", .metadata = {{"shop", "Vienna"}}});
    nested(saver).invoke(ordered("Hedy", {"radio"}), {.thread_id = "order-1043", .metadata = {{"shop", "Vienna"}}});
    order("order-1044", "Paris", ordered("Grace", {"tea", "coffee"}));
    try {
        order("order-1045", "London", ordered("Alan", {"tea", "unicorn"}));
    } catch (const sg::NodeError&) {  // as it should
    }
}

void makeLong(const std::string& folder, const std::string& thread, int rounds) {
    const auto saver = std::make_shared<sg::RocksDBSaver>(folder);
    sg::StateGraph<Order> graph;
    graph
        .addNode("round",
                 [rounds](const Order& order) -> sg::Command<Order> {
                     Update update{sg::set<&Order::rounds>(order.rounds + 1)};
                     if (order.rounds % 100 == 0)
                         update.with(sg::add<&Order::messages>({Message{"ai", std::to_string(order.rounds)}}));
                     return {.update = update, .go_to = {order.rounds + 1 < rounds ? "round" : sg::END}};
                 },
                 {.ends = {"round", sg::END}})
        .addEdge(sg::START, "round");
    const auto app = graph.compile({.checkpointer = saver});
    app.invoke(ordered("Long", {}), {.thread_id = thread, .recursion_limit = rounds + 10});
}

void makeLarge(const std::string& folder, const std::string& thread, std::size_t bytes) {
    const auto saver = std::make_shared<sg::RocksDBSaver>(folder);
    const App app = compiled(saver);
    std::vector<Message> messages;
    for (std::size_t i = 0; i * 500 < bytes; ++i)
        messages.push_back({i % 2 == 0 ? "human" : "ai", std::to_string(i) + std::string(480, 'x')});
    Update update = ordered("Large", {});
    update.with(sg::add<&Order::messages>(std::move(messages)));
    app.invoke(std::move(update), {.thread_id = thread});
}

void makeMany(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, int count) {
    sg::StateGraph<Order> graph;
    graph
        .addNode("count",
                 [](const Order& order, sg::Runtime& runtime) -> Update {
                     if (order.rounds % 1000 == 0) sg::interrupt<std::string>(runtime, "go", "Go on?");
                     return {sg::add<&Order::total>(1)};
                 })
        .addEdge(sg::START, "count");
    const auto app = graph.compile({.checkpointer = saver});
    for (int i = 0; i < count; ++i)
        app.invoke(Update{sg::set<&Order::rounds>(i)},
                   {.thread_id = "thread-" + std::to_string(i), .durability = sg::Durability::exit});
}

int serveMany(int count, const std::string& key) {
    const auto saver = std::make_shared<sg::MemorySaver>();
    makeMany(saver, count);
    sg::inspect::Server server(saver, {.key = key, .store = "memory", .handle_signals = true});
    std::cout << server.url() << std::endl;
    server.wait();
    return 0;
}

int serve(const std::vector<std::string>& words) {
    const auto has = [&](const char* word) { return std::find(words.begin() + 3, words.end(), word) != words.end(); };
    const bool is_read_only = has("--read-only");
    int port = 0;
    std::from_chars(words.back().data(), words.back().data() + words.back().size(), port);
    const auto saver = std::make_shared<sg::RocksDBSaver>(
        words.at(1), sg::RocksDBSaverOptions{.read_only = is_read_only, .follow = is_read_only});
    using Patterns = std::vector<std::string>;
    sg::inspect::Server server(saver, {.port = static_cast<std::uint16_t>(port),
                                       .write = !is_read_only,
                                       .redact = has("--open") ? Patterns{} : Patterns{"*token*", "card.number"},
                                       .key = words.at(2),
                                       .store = std::filesystem::path(words.at(1)).filename().string(),
                                       .handle_signals = true});
    const std::filesystem::path folder = std::filesystem::path(words.at(1)).parent_path();
    if (!is_read_only) server.add("order", has("--writer") ? writer(saver, folder) : compiled(saver));
    std::cout << server.url() << std::endl;
    server.wait();
    return 0;
}

}  // namespace inspected_store

int main(int argc, char** argv) {
    using namespace inspected_store;
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() < 2) {
        std::cerr << "make FOLDER | show FOLDER | long FOLDER THREAD N | large FOLDER THREAD BYTES | many FOLDER N | "
                     "serve-many N KEY | serve FOLDER KEY [--read-only] [--writer] [--open] [PORT]\n";
        return 2;
    }
    if (words[0] == "make") make(words[1]);
    if (words[0] == "show") makeShown(words[1]);
    if (words[0] == "long") makeLong(words[1], words.at(2), std::stoi(words.at(3)));
    if (words[0] == "large") makeLarge(words[1], words.at(2), std::stoull(words.at(3)));
    if (words[0] == "many") makeMany(std::make_shared<sg::RocksDBSaver>(words[1]), std::stoi(words.at(2)));
    if (words[0] == "serve-many") return serveMany(std::stoi(words[1]), words.at(2));
    if (words[0] == "serve") return serve(words);
    return 0;
}
