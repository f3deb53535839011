#include "tests/failover/modes.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <stategraph/postgres_queue.hpp>
#include <stategraph/postgres_store.hpp>

#include "tests/failover/graphs.hpp"

using namespace std::chrono_literals;

namespace failover {
namespace {

constexpr int threads_of_queue = 40;
// A thread of the front end takes so many numbers. After an error its state is not known, and the next one begins.
constexpr std::int64_t numbers_each = 50;

// Calls `call` with 1, 2, … until the process is to end, and prints what fails.
void repeat(const std::atomic<bool>& is_ending, std::chrono::milliseconds pause, const char* what,
            const std::function<void(std::int64_t)>& call) {
    for (std::int64_t number = 1; !is_ending; ++number) {
        try {
            call(number);
        } catch (const std::exception& error) {
            std::cerr << what << " " << number << ": " << error.what() << std::endl;
        }
        std::this_thread::sleep_for(pause);  // sleeps: so that the servers have time for failing over
    }
}

// Runs of this process, one superstep each.
void run(const std::atomic<bool>& is_ending, const std::shared_ptr<sg::PostgresSaver>& saver, const Journal& acks,
         const std::string& what, sg::Durability durability) {
    const auto app = noteGraph(saver);
    std::int64_t thread = 0;
    std::int64_t left = 0;
    repeat(is_ending, 15ms, what.c_str(), [&](std::int64_t number) {
        if (left-- == 0) ++thread, left = numbers_each - 1;
        const std::string id = what + "-" + std::to_string(thread);
        const std::int64_t kept = std::exchange(left, 0);
        acks.note(what + "-asked", id, number);
        (void)app.invoke({sg::set<&Work::number>(number)}, {.thread_id = id, .durability = durability});
        acks.note(what, id, number);
        left = kept;
    });
}

// Inputs for the workers, each with a key, under which it is submitted again until the queue has it.
void submit(const std::atomic<bool>& is_ending, const std::shared_ptr<sg::PostgresSaver>& saver, const Journal& acks) {
    sg::PostgresQueue queue(saver);
    repeat(is_ending, 25ms, "submit", [&](std::int64_t number) {
        const std::string graph = number % 2 == 0 ? "sync" : "async";
        const std::string thread = graph + "-work-" + std::to_string(number % threads_of_queue);
        const sg::Value input = sg::parseJson(R"({"step": 0, "number": )" + std::to_string(number) + "}");
        for (;;) {
            try {
                (void)queue.submit(
                    {.thread_id = thread, .graph = graph, .input = input, .key = std::to_string(number)});
                break;
            } catch (const sg::SaverError& error) {
                std::cerr << "submit " << number << ": " << error.what() << std::endl;
                if (is_ending) return;
                std::this_thread::sleep_for(100ms);  // sleeps: the server is away
            }
        }
        acks.note("submit", thread, number);
    });
}

void store(const std::atomic<bool>& is_ending, const std::string& database, const Journal& acks,
           const std::string& what, bool sync) {
    const sg::PostgresSaverOptions limits = saverOptions();
    sg::PostgresStore store(
        database, {},
        {.sync = sync, .statement_timeout = limits.statement_timeout, .reconnect_for = limits.reconnect_for});
    repeat(is_ending, 40ms, what.c_str(), [&](std::int64_t number) {
        store.put({what}, std::to_string(number), sg::parseJson(R"({"number": )" + std::to_string(number) + "}"));
        acks.note(what, what, number);
    });
}

}  // namespace

int front(const std::string& database, const std::string& folder, const std::atomic<bool>& is_ending) {
    const auto saver = std::make_shared<sg::PostgresSaver>(database, saverOptions());
    const Journal acks(folder + "/acks");
    std::vector<std::thread> threads;
    threads.emplace_back([&] { submit(is_ending, saver, acks); });
    threads.emplace_back([&] { run(is_ending, saver, acks, "run-sync", sg::Durability::sync); });
    threads.emplace_back([&] { run(is_ending, saver, acks, "run-async", sg::Durability::async); });
    threads.emplace_back([&] { store(is_ending, database, acks, "store-sync", true); });
    threads.emplace_back([&] { store(is_ending, database, acks, "store-async", false); });
    for (std::thread& thread : threads) thread.join();
    return 0;
}

}  // namespace failover
