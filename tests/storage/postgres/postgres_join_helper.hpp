#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/support/until.hpp"

namespace postgres_tests {

namespace sg_testing = stategraph::testing;

/// Whether a thread of this process waits for something or has ended.
inline bool isAsleep(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    if (!std::getline(file, text)) return true;
    const std::size_t name_end = text.rfind(") ");  // the name is in brackets, and may have some
    return name_end != std::string::npos && text.compare(name_end + 2, 1, "S") == 0;
}

/// Returns when all of them have begun, and were asleep at three looks in a row. A thread that has not begun is 0.
inline void awaitAsleep(const std::vector<std::atomic<pid_t>>& threads) {
    for (int looks = 0; looks < 3;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // sleeps: between two looks
        const auto waits = [](const std::atomic<pid_t>& thread) { return thread != 0 && isAsleep(thread); };
        looks = std::ranges::all_of(threads, waits) ? looks + 1 : 0;
    }
}

/// Has a saver with one joined statement at a time join what it is given: while a first put waits for a lock, the
/// others come, and all of them go with the next statement.
class Joining {
public:
    using Call = std::function<void()>;

    /// The saver has join_puts.statements_max = 1. Others may use the same schema through other savers.
    Joining(const Schema& schema, stategraph::BaseCheckpointSaver& saver) : schema_(schema), saver_(saver) {
        sg_testing::putOne(saver_, {first_thread}, {}, sg_testing::makeCommit(1, 0));
    }

    /// What each of the calls throws; each has a thread of its own.
    std::vector<std::string> together(const std::vector<Call>& calls) {
        Raw blocker;
        blocker.run("BEGIN; LOCK TABLE " + schema_.name() + ".commits IN EXCLUSIVE MODE");
        ++puts_;
        auto first = std::async(std::launch::async, [this] {
            return databaseError([this] {
                sg_testing::putOne(saver_, {first_thread}, sg_testing::nthId(puts_ - 1),
                                   sg_testing::makeCommit(puts_, puts_ - 1));
            });
        });
        Raw watcher;
        patience::until([&] {
            return watcher.run("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '" + schema_.name() +
                               ".commits'::regclass") != "0";
        });
        std::vector<std::future<std::string>> others;
        std::vector<std::atomic<pid_t>> threads(calls.size());
        for (std::size_t i = 0; i < calls.size(); ++i) {
            others.push_back(std::async(std::launch::async, [&call = calls[i], &thread = threads[i]] {
                thread = ::gettid();
                return databaseError(call);
            }));
        }
        awaitAsleep(threads);
        blocker.run("COMMIT");
        std::vector<std::string> said;
        for (auto& each : others) said.push_back(each.get());
        CHECK(first.get() == "");
        return said;
    }

private:
    static constexpr const char* first_thread = "the first";

    const Schema& schema_;
    stategraph::BaseCheckpointSaver& saver_;
    unsigned puts_ = 1;
};

}  // namespace postgres_tests
