// Two worker processes on one queue in PostgreSQL. Of three orders one waits for a human, one sleeps until it is due,
// and one does neither.
//
//     START ──► review ──► delay ──► ship ──► END
//
// Without arguments the program is a client: it starts two of itself as workers, submits orders, answers a question and
// ends the workers. `workers worker` is a worker with options, as `workers worker --help` lists them; `workers work` is
// one that runs a Worker itself. Both work until SIGTERM. DATABASE_URL names the database.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/answer.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/unfinished.hpp>
#include <stategraph/worker.hpp>
#include <stategraph/worker_main.hpp>

namespace sg = stategraph;
using namespace std::chrono_literals;

struct Order {
    std::string item = {};
    bool needs_approval = false;
    int wait_ms = 0;
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Order::item>(), sg::channel<&Order::needs_approval>(),
                            sg::channel<&Order::wait_ms>(), sg::channel<&Order::log>(sg::append));
    }
};

sg::Update<Order> review(const Order& order, sg::Runtime& runtime) {
    if (!order.needs_approval) return {sg::add<&Order::log>("needs no approval")};
    const auto by = sg::interrupt<std::string>(runtime, sg::Value("Who approves the " + order.item + "?"));
    return {sg::add<&Order::log>("approved by " + by)};
}

sg::Update<Order> delay(const Order& order, sg::Runtime& runtime) {
    if (order.wait_ms == 0) return {};
    runtime.sleepUntil(std::chrono::system_clock::now() + std::chrono::milliseconds(order.wait_ms));
    return {sg::add<&Order::log>("waited")};
}

sg::Update<Order> ship(const Order& order) { return {sg::add<&Order::log>(order.item + " shipped")}; }

sg::CompiledGraph<Order> makeApp(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<Order> graph;
    graph.addNode("review", review).addNode("delay", delay).addNode("ship", ship);
    graph.addEdge(sg::START, "review").addEdge("review", "delay").addEdge("delay", "ship").addEdge("ship", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

std::string database() {
    const char* const given = std::getenv("DATABASE_URL");
    return given ? given : "dbname=postgres";
}

std::shared_ptr<sg::PostgresSaver> openSaver() {
    return std::make_shared<sg::PostgresSaver>(database(), sg::PostgresSaverOptions{.schema = "example_workers"});
}

int workWithOptions(int argc, char** argv) {
    // [begin main]
    return sg::workerMain(argc, argv, [](sg::Worker& worker, const std::shared_ptr<sg::LeasedSaver>& saver) {
        worker.add("order", makeApp(saver));
    });
    // [end main]
}

int work() {
    // [begin worker]
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread begins: one of them waits for it

    const auto saver = std::make_shared<sg::LeasedSaver>(openSaver());
    sg::Worker worker(saver, {.slots = 4, .poll_interval = 20ms});
    worker.add("order", makeApp(saver));
    std::thread stopper([&] {
        int signal = 0;
        sigwait(&signals, &signal);
        worker.stop();
    });
    worker.run();
    stopper.join();
    // [end worker]
    return 0;
}

pid_t startWorker(const char* program, bool has_options) {
    const pid_t process = ::fork();
    if (process != 0) return process;
    if (has_options)
        ::execl("/proc/self/exe", program, "worker", "--schema", "example_workers", "--slots", "4", "--poll", "20ms",
                static_cast<char*>(nullptr));
    else
        ::execl("/proc/self/exe", program, "work", static_cast<char*>(nullptr));
    ::_exit(127);
}

/// Waits until the condition is true.
template <class Condition>
void await(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(10ms);
}

void show(const sg::CompiledGraph<Order>& app, const std::string& thread) {
    std::cout << thread << ":\n";
    for (const std::string& line : app.getState({.thread_id = thread}).values.log) std::cout << "  " << line << "\n";
}

int main(int argc, char** argv) {
    if (argc > 1 && argv[1] == std::string("worker")) return workWithOptions(argc - 1, argv + 1);
    if (argc > 1) return work();
    sg::PostgresSaver::setUp(database(), {.schema = "example_workers"});
    const pid_t workers[] = {startWorker(argv[0], true), startWorker(argv[0], false)};

    const auto saver = openSaver();
    for (const char* old : {"book", "lamp", "piano"}) saver->deleteThread(old);  // of an earlier run of this program
    // [begin submit]
    sg::PostgresQueue queue(saver);
    const auto submit = [&](const std::string& thread, const std::string& order, const std::string& key) {
        return queue.submit({.thread_id = thread, .graph = "order", .input = sg::parseJson(order), .key = key});
    };
    submit("book", R"({"item": "book"})", "order 1");
    submit("lamp", R"({"item": "lamp", "wait_ms": 300})", "order 2");
    submit("piano", R"({"item": "piano", "needs_approval": true})", "order 3");
    const sg::Receipt again = submit("piano", R"({"item": "piano", "needs_approval": true})", "order 3");
    std::cout << "order 3 again: " << (again.is_new ? "stored" : "it was stored already") << "\n";
    // [end submit]

    const auto app = makeApp(saver);
    const auto isDone = [&](const std::string& thread) { return !queue.find(thread); };
    await([&] { return isDone("book"); });
    show(app, "book");
    await([&] { return isDone("lamp"); });
    show(app, "lamp");

    // [begin answer]
    const auto waits = [&](const sg::QueuedThread& thread) { return thread.state == sg::WorkState::waits; };
    await([&] { return waits(*queue.find("piano")); });
    const auto asked = saver->unfinishedThreads({.thread_ids = {"piano"}});
    std::cout << "asked: " << asked.at(0).interrupts.at(0).value.toJson() << "\n";
    sg::answer(*saver, {.thread_id = "piano"}, sg::Value("Ada"));
    // [end answer]
    await([&] { return isDone("piano"); });
    show(app, "piano");

    // Both have come, so they handle signals.
    await([&] { return std::ranges::count_if(queue.workers(), &sg::QueueWorker::is_alive) == 2; });
    for (const pid_t process : workers) {
        ::kill(process, SIGTERM);
        int status = 0;
        ::waitpid(process, &status, 0);
        std::cout << "a worker ended with " << (WIFEXITED(status) ? WEXITSTATUS(status) : -1) << "\n";
    }
}
