#include "tests/failover/modes.hpp"

#include <chrono>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
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

constexpr auto drained_within = 3min;
constexpr std::size_t examples_max = 10;

// Counts what is as it was acknowledged, and what is not.
class Findings {
public:
    explicit Findings(const std::string& path) : file_(path) {}
    void count(const std::string& what) { ++counts_[what]; }
    /// Counts it, writes it to the file, and keeps the first ones as examples.
    void note(const std::string& what, const Line& line) {
        count(what);
        file_ << line.ms << " " << what << ": " << line.thread << " " << line.number << "\n";
        if (examples_.size() < examples_max)
            examples_.push_back(what + ": " + line.thread + " " + std::to_string(line.number) + " at " +
                                std::to_string(line.ms));
    }
    std::string json() const {
        std::string text = "{";
        for (const auto& [what, count] : counts_) text += "\"" + what + "\": " + std::to_string(count) + ", ";
        text += "\"examples\": [";
        for (std::size_t i = 0; i < examples_.size(); ++i) text += (i > 0 ? ", \"" : "\"") + examples_[i] + "\"";
        return text + "]}";
    }

private:
    std::ofstream file_;
    std::map<std::string, std::size_t> counts_;
    std::vector<std::string> examples_;
};

using Log = std::map<std::int64_t, int>;  // how often each entry is in it

Log logOf(const std::shared_ptr<sg::PostgresSaver>& saver, const std::string& thread) {
    Log log;
    for (const std::int64_t entry : noteGraph(saver).getState({.thread_id = thread}).values.log) ++log[entry];
    return log;
}

// The log of each thread is read once.
class Logs {
public:
    explicit Logs(std::shared_ptr<sg::PostgresSaver> saver) : saver_(std::move(saver)) {}
    const Log& of(const std::string& thread) {
        const auto found = logs_.find(thread);
        return found != logs_.end() ? found->second : logs_.emplace(thread, logOf(saver_, thread)).first->second;
    }
    int count(const std::string& thread, std::int64_t entry) {
        const Log& log = of(thread);
        const auto found = log.find(entry);
        return found != log.end() ? found->second : 0;
    }
    const std::map<std::string, Log>& all() const noexcept { return logs_; }

private:
    std::shared_ptr<sg::PostgresSaver> saver_;
    std::map<std::string, Log> logs_;
};

// Returns whether it became empty. What is left is printed.
bool awaitDrained(sg::PostgresQueue& queue) {
    const auto end = std::chrono::steady_clock::now() + drained_within;
    for (;;) {
        const std::vector<sg::QueuedThread> left = queue.list();
        if (left.empty()) return true;
        if (std::chrono::steady_clock::now() > end) {
            for (const sg::QueuedThread& each : left)
                std::cerr << each.thread_id << ": " << sg::toString(each.standing) << " " << each.error << std::endl;
            return false;
        }
        std::this_thread::sleep_for(200ms);  // sleeps: workers of other processes empty it
    }
}

void checkRuns(const std::vector<Line>& acks, Logs& logs, Findings& findings) {
    for (const Line& line : acks) {
        if (line.what != "run-sync" && line.what != "run-async") continue;
        findings.count("acknowledged " + line.what);
        if (logs.count(line.thread, line.number) == 0) findings.note("lost " + line.what, line);
    }
}

void checkQueue(const std::vector<Line>& acks, Logs& logs, Findings& findings) {
    for (const Line& line : acks) {
        if (line.what != "submit") continue;
        findings.count("acknowledged submit");
        for (int step = 1; step <= steps_each; ++step) {
            if (logs.count(line.thread, line.number * 10 + step) == 0) {
                findings.note("lost submit", line);
                break;
            }
        }
    }
}

// No entry of any log is there twice, however it was acknowledged.
void checkTwice(const Logs& logs, Findings& findings) {
    for (const auto& [thread, log] : logs.all()) {
        for (const auto& [entry, count] : log) {
            findings.count("entries");
            if (count > 1) findings.note("twice in a log", {.thread = thread, .number = entry});
        }
    }
}

void checkEffects(const std::vector<Line>& acks, const std::vector<Line>& effects, Findings& findings) {
    std::map<std::pair<std::string, std::int64_t>, int> counts;
    for (const Line& line : effects) {
        if (line.what != "sync" && line.what != "async") {
            findings.count("nodes executed");
            continue;
        }
        findings.count("effects of " + line.what);
        if (++counts[{line.thread, line.number}] == 2) findings.note("twice effects of " + line.what, line);
    }
    for (const Line& line : acks) {
        if (line.what == "submit" && !counts.contains({line.thread, line.number})) findings.note("lost effect", line);
    }
}

void checkStore(const std::string& database, const std::vector<Line>& acks, Findings& findings) {
    sg::PostgresStore store(database, {}, {});
    for (const Line& line : acks) {
        if (line.what != "store-sync" && line.what != "store-async") continue;
        findings.count("acknowledged " + line.what);
        if (!store.get({line.what}, std::to_string(line.number))) findings.note("lost " + line.what, line);
    }
}

}  // namespace

int check(const std::string& database, const std::string& folder) {
    const auto saver = std::make_shared<sg::PostgresSaver>(database, saverOptions());
    sg::PostgresQueue queue(saver);
    Findings findings(folder + "/findings");
    if (!awaitDrained(queue)) findings.note("not drained", {});
    const std::vector<Line> acks = Journal::read(folder + "/acks");
    Logs logs(saver);
    checkRuns(acks, logs, findings);
    checkQueue(acks, logs, findings);
    checkTwice(logs, findings);
    checkEffects(acks, Journal::read(folder + "/effects"), findings);
    checkStore(database, acks, findings);
    std::cout << findings.json() << std::endl;
    return 0;
}

}  // namespace failover
