// A job that cron or a timer of systemd starts every night: fetch, clean, upload. The day is the thread.
//
//     START ──► fetch ──► clean ──► upload ──► END
//
// If a night's job fails, starting it again continues at the step that failed; if it has ended, starting it again does
// nothing. So a timer may start it as often as it likes. Usage: nightly_job DAY
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/sqlite_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
using namespace std::chrono_literals;

struct Night {
    std::string day = {};
    std::vector<int> numbers = {};
    std::string receipt = {};
    static constexpr auto channels() { return sg::channels<&Night::day, &Night::numbers, &Night::receipt>(); }
};

// [begin steps]
sg::Update<Night> fetch(const Night& night) {
    std::cout << "fetches the numbers of " << night.day << "\n";
    return sg::set<&Night::numbers>(std::vector{3, -1, 4, 1, -5, 9});  // from a service
}

sg::Update<Night> clean(const Night& night) {
    std::cout << "cleans " << night.numbers.size() << " numbers\n";
    std::vector<int> kept = night.numbers;
    std::erase_if(kept, [](int number) { return number < 0; });
    return sg::set<&Night::numbers>(kept);
}

sg::Update<Night> upload(const Night& night, sg::Runtime& runtime) {
    // The folder stands for a server that may be down.
    if (!std::filesystem::exists("server")) throw std::runtime_error("the server does not answer");
    // Called once, also if the process dies after it and before the step is stored. The server can recognise a repeated
    // request by the key.
    const auto send = [&] {
        std::ofstream("server/" + night.day) << runtime.idempotencyKey("upload") << "\n";
        return "receipt of " + night.day;
    };
    const std::string receipt = runtime.once("upload", send);
    std::cout << "uploads " << night.numbers.size() << " numbers\n";
    return sg::set<&Night::receipt>(receipt);
}
// [end steps]

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: nightly_job DAY\n";
        return 2;
    }
    const std::string day = argv[1];

    // [begin graph]
    sg::StateGraph<Night> graph;
    graph.addNode("fetch", fetch, {.timeout = 10min}).addNode("clean", clean);
    graph.addNode("upload", upload, {.retry = sg::RetryPolicy{.max_attempts = 3, .initial_interval = 1ms}});
    graph.addEdge(sg::START, "fetch").addEdge("fetch", "clean").addEdge("clean", "upload").addEdge("upload", sg::END);
    sg::SqliteSaverOptions options;
    options.retention =
        sg::RetentionOptions{.threads_unused_for = 24h * 30};  // removes nights of more than a month ago
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::SqliteSaver>("nights.db", options)});
    // [end graph]

    // [begin start]
    try {
        const auto before = app.getState({.thread_id = day});
        if (!before.values.receipt.empty()) {
            std::cout << "the night is done: " << before.values.receipt << "\n";
            return 0;
        }
        const auto night = before.next.empty() ? app.invoke({sg::set<&Night::day>(day)}, {.thread_id = day})
                                               : app.invoke(sg::RESUME, {.thread_id = day});
        std::cout << night.status << ": " << night.values.receipt << "\n";
        return 0;
    } catch (const std::exception& error) {
        std::cout << "failed: " << error.what() << "\n";
        return 1;  // the timer starts it again, or writes to somebody
    }
    // [end start]
}
