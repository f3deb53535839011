// What docs/control.md, reliability.md and interrupts.md show: runs that ask, that are cancelled, limited, edited, busy
// and recovered.
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
using namespace std::chrono_literals;

struct Order {
    std::string id = {};
    std::string email = {};
    int total = 0;
    std::string receipt = {};
    std::string state = {};
    static constexpr auto channels() {
        return sg::channels<&Order::id, &Order::email, &Order::total, &Order::receipt, &Order::state>();
    }
};

void askAndCancel() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto notify = [](const std::string& text) { std::cout << text << "\n"; };
    const sg::Update<Order> input = {sg::set<&Order::id>("42"), sg::set<&Order::total>(30)};
    sg::StateGraph<Order> graph;
    // [begin question]
    graph.addNode("pay", [notify](const Order& order, sg::Runtime& rt) -> sg::Update<Order> {
        // This happens once, and not again when the answer has arrived.
        if (!sg::answerOf<bool>(rt, "approve")) notify("waiting for approval of " + order.id);
        const bool approved = sg::interrupt<bool>(rt, "approve", "pay " + std::to_string(order.total) + "?");
        return {sg::set<&Order::state>(approved ? "paid" : "refused")};
    });
    // [end question]
    graph.addEdge(sg::START, "pay").addEdge("pay", sg::END);
    const auto app = graph.compile({.checkpointer = saver});
    // [begin question]
    auto result = app.invoke(input, {.thread_id = "42"});  // Status::interrupted, result.interrupts
    result = app.invoke(sg::resume({{"approve", true}}), {.thread_id = "42"});
    // sg::resume(true) is enough where one question is open
    // [end question]
    std::cout << result.status << ": " << result.values.state << "\n";

    app.invoke(input, {.thread_id = "order-7", .metadata = {{"tenant", "acme"}}});
    // [begin cancel]
    // Suspended, asleep, failed, left by a process that died, or under way:
    app.cancelThread("order-7");
    const bool is_cancelled = app.getState({.thread_id = "order-7"}).cancelled;  // `next` and open questions are empty
    const auto waiting = saver->unfinishedThreads({.metadata = {{"tenant", "acme"}}});  // does not list it
    // [end cancel]
    std::cout << "cancelled: " << is_cancelled << ", waiting: " << waiting.size() << "\n";
}

void limit() {
    const auto fetch = [](const Order&) -> sg::Update<Order> { return {sg::set<&Order::state>("fetched")}; };
    const sg::Update<Order> input = {sg::set<&Order::id>("1")};
    sg::StateGraph<Order> graph;
    // [begin limits]
    graph.addNode("fetch", fetch, {.max_concurrency = 4});  // at most four of its tasks at once, of however many Sends
    // [end limits]
    graph.addEdge(sg::START, "fetch").addEdge("fetch", sg::END);
    // [begin limits]
    const auto app = graph.compile({.recursion_limit = 200});  // for runs that say nothing themselves
    // This run may take 500 supersteps, with 16 tasks at the same time.
    const auto result = app.invoke(input, {.recursion_limit = 500, .max_concurrency = 16});
    // [end limits]
    std::cout << result.values.state << "\n";
}

struct Trip {
    std::string city = {};
    std::vector<std::string> found = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Trip::city>(), sg::channel<&Trip::found>(sg::append));
    }
};
struct Query {
    std::string what = {};
    static constexpr auto fields() { return sg::fields<&Query::what>(); }
};

sg::Update<Trip> found(const std::string& what) { return {sg::add<&Trip::found>(what)}; }

void edit() {
    sg::StateGraph<Trip> graph;
    graph.addNode("plan",
                  [](const Trip&) -> sg::Command<Trip> {
                      return {.go_to = {sg::Send("search", Query{"trains"}), sg::Send("search", Query{"planes"})}};
                  },
                  {.ends = {"search"}});
    graph.addNode("search", [](const Query& query) { return found(query.what); });
    graph.addNode("book",
                  [](const Trip& trip) -> sg::Update<Trip> { return {sg::add<&Trip::found>("booked " + trip.city)}; });
    graph.addEdge(sg::START, "plan").addEdge("search", "book").addEdge("book", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.invoke({sg::set<&Trip::city>("Oslo")}, {.thread_id = "trip"});
    sg::Config before_book;
    sg::Config before_search;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "trip"})) {
        if (!snapshot.next.empty() && snapshot.next.front() == "book") before_book = snapshot.config;
        if (!snapshot.next.empty() && snapshot.next.front() == "search") before_search = snapshot.config;
    }
    // [begin edit]
    // Back to the checkpoint before "book": another city, and two more searches in addition to what follows "plan".
    app.updateState(
        before_book, {sg::set<&Trip::city>("Lima")},
        {.as_node = "plan", .go_to = {sg::Send("search", Query{"trains"}), sg::Send("search", Query{"planes"})}});
    const auto again = app.invoke(sg::RESUME, {.thread_id = "trip"});
    // [end edit]
    std::cout << again.values << "\n";
    // [begin results]
    app.bulkUpdateState(before_search, {{{.as_node = sg::COPY}},
                                        {{.values = found("trains"), .as_node = "search"},
                                         {.values = found("planes"), .as_node = "search"}}});
    // [end results]
    std::cout << app.getState({.thread_id = "trip"}).tasks.size() << " tasks\n";
}

struct Bank {
    std::string charge(int total, const std::string& key) {
        std::cout << "charged " << total << " (a key of " << (key.empty() ? "no" : "some") << " bytes)\n";
        return "receipt";
    }
};
struct Mail {
    void send(const std::string& to, const std::string& text) { std::cout << "to " << to << ": " << text << "\n"; }
    bool wasSent(const std::string&, const std::string&) { return false; }
};

void effectsAndRuns() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Bank bank;
    Mail mail;
    sg::StateGraph<Order> graph;
    // [begin effects]
    graph.addNode("pay", [&](const Order& order, sg::Runtime& rt) -> sg::Update<Order> {
        const auto charge = [&] { return bank.charge(order.total, rt.idempotencyKey("charge")); };
        const std::string receipt = rt.once("charge", charge);
        rt.once(
            "mail", [&] { mail.send(order.email, receipt); }, [&] { return mail.wasSent(order.email, receipt); });
        return {sg::set<&Order::receipt>(receipt)};
    });
    // [end effects]
    graph.addEdge(sg::START, "pay").addEdge("pay", sg::END);
    const auto app = graph.compile({.checkpointer = saver});
    const sg::Update<Order> input = {sg::set<&Order::email>("ada@example.org"), sg::set<&Order::total>(30)};
    // [begin busy]
    app.invoke(input, {.thread_id = "1"});  // ThreadBusyError if another run is under way (default)
    // This run waits for its turn, or ends with ThreadBusyError:
    app.invoke(input, {.thread_id = "1", .on_busy = sg::OnBusy::wait, .busy_timeout = 5s});
    // The other run ends with Status::cancelled:
    app.invoke(input, {.thread_id = "1", .on_busy = sg::OnBusy::replace});
    // [end busy]
    // [begin only at]
    const auto read = app.getState({.thread_id = "1"});
    if (read.values.total == 30)  // ThreadChangedError if the thread has continued since it was read
        app.updateState({.thread_id = "1"}, {sg::set<&Order::total>(20)}, {.only_at = read.config.checkpoint_id});
    // [end only at]
    app.submit(input, {.thread_id = "left"});  // as a process that died leaves it
    // [begin recover]
    for (const auto& thread : saver->unfinishedThreads())
        std::cout << thread.thread_id << " is " << toString(thread.reason) << "\n";
    for (const auto& thread : app.recover())
        std::cout << thread.thread_id << " is " << (thread.status ? toString(*thread.status) : thread.why) << "\n";
    // [end recover]
}

int main() {
    askAndCancel();
    limit();
    edit();
    effectsAndRuns();
}
