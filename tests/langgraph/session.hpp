#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

// A client's session with a server that may be killed between any two of its requests.
namespace session {

namespace json = boost::json;

/// What a session does. It depends on the seed, and not on when the server was killed.
struct Plan {
    unsigned seed = 0;
    std::size_t requests = 0;
    /// Of how many requests the server is killed after one, on average; 0: never.
    unsigned kill_one_of = 0;
};

/// One client, whose requests have the graph "app" of session_test.cpp run on some threads. Errors of all calls:
/// std::runtime_error if the server answers what makes no sense.
class Session {
public:
    /// `restart` kills the server, starts the next one and returns its port.
    Session(const Plan& plan, std::uint16_t port, std::function<std::uint16_t()> restart);

    /// Makes all requests, and returns what the client has seen of their ends, and what it reads of everything after
    /// the last one, as lines without ids and times.
    std::vector<std::string> run();
    std::size_t kills() const noexcept { return kills_; }

private:
    enum class Stands : std::uint8_t { idle, asks, sleeps };
    struct Thread {
        std::string id;
        std::string name;
        Stands stands = Stands::idle;
        std::vector<std::string> runs = {};
    };

    std::size_t one(std::size_t of) { return std::uniform_int_distribution<std::size_t>(0, of - 1)(random_); }
    json::value ask(std::string_view method, const std::string& target, const json::value& body = nullptr,
                    int status = 200);
    json::value look(const std::string& target);
    bool isThere(const std::string& target) const;
    void note(std::string what) { lines_.push_back(std::move(what)); }

    void step();
    void createThread();
    void begin(Thread& thread, json::object what, bool waits, const char* strategy = "enqueue");
    void beginOne(Thread& thread);
    void beginSleeping(Thread& thread);
    void endSleeping(Thread& thread);
    void edit(Thread& thread);
    void copy(Thread& thread);
    void remove(std::size_t place);
    void removeRun(Thread& thread);
    void useStore();
    void runAlone();
    void read(const Thread& thread);
    void awaitEnd(const Thread& thread);
    void readAll();
    std::string nextName() { return std::to_string(++names_); }

    const Plan plan_;
    std::uint16_t port_;
    const std::function<std::uint16_t()> restart_;
    std::mt19937 random_;
    std::mt19937 killing_;
    std::vector<Thread> threads_;
    std::vector<std::string> lines_;
    std::size_t names_ = 0;
    std::size_t asked_ = 0;
    std::size_t kills_ = 0;
};

}  // namespace session
