// The processes of scripts/failover.sh: a front end and workers, which work while servers fail, and a checker.
//
//   stategraph-failover setup DATABASE
//   stategraph-failover front DATABASE FOLDER
//   stategraph-failover work DATABASE FOLDER NAME
//   stategraph-failover check DATABASE FOLDER
//
// DATABASE is a connection string that names all servers. FOLDER has the journals. `front` and `work` end at SIGTERM.
#include <atomic>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <stategraph/postgres_saver.hpp>
#include <stategraph/postgres_store.hpp>

#include "tests/failover/modes.hpp"

namespace {

std::atomic<bool> is_ending{false};

int run(const std::vector<std::string>& words) {
    const std::string mode = words.empty() ? "" : words[0];
    if (mode == "setup" && words.size() == 2) {
        stategraph::PostgresSaver::setUp(words[1]);
        stategraph::PostgresStore::setUp(words[1]);
        return 0;
    }
    if (mode == "front" && words.size() == 3) return failover::front(words[1], words[2], is_ending);
    if (mode == "work" && words.size() == 4) return failover::work(words[1], words[2], words[3], is_ending);
    if (mode == "check" && words.size() == 3) return failover::check(words[1], words[2]);
    std::cerr << "usage: stategraph-failover setup|front|work|check DATABASE [FOLDER [NAME]]" << std::endl;
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGTERM, [](int) { is_ending = true; });
    try {
        return run(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}
