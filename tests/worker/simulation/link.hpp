#pragma once
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/id_source.hpp>

#include "tests/worker/simulation/model_server.hpp"
#include "tests/worker/simulation/scheduler.hpp"

namespace simulation {

/// The server as all processes reach it, and what may happen on the way.
struct Network {
    Network(Scheduler& given, Broken broken) : scheduler(given), server(broken) {}

    Scheduler& scheduler;
    ModelServer server;
    bool is_up = true;
    Time clock_jump{0};    // how wrong the server's clock is
    unsigned crashes = 0;  // a connection ends with each
    unsigned lost = 0;     // of a hundred requests, and of a hundred answers
    Time latency_max{2ms};
    std::function<void()> after_each;  // statement, for checks
    std::uint64_t hash = 0;            // of when statements were executed

    /// Prints it, with the time.
    void say(const std::string& what) const {
        if (is_told) std::printf("%10.3f %s\n", static_cast<double>(scheduler.now().count()) / 1e6, what.c_str());
    }
    bool is_told = false;

    /// 2026.
    static constexpr Time beginning = std::chrono::hours(24 * 365 * 56);
    void setClock() { server.now = beginning + scheduler.now() + clock_jump; }
};

/// A process of the system: what can happen to it.
class Process final : public sg::IdSource {
public:
    Process(Network& network, std::string name) : network_(network), name_(std::move(name)) {}

    Freeze freeze;         // frozen, as by SIGSTOP
    bool is_dead = false;  // killed: nothing that it does has an effect
    Time cut_until{0};     // no request arrives
    Time clock_jump{0};    // how wrong its clock is

    const std::string& name() const noexcept { return name_; }
    Scheduler& scheduler() const noexcept { return network_.scheduler; }
    Network& network() const noexcept { return network_; }
    /// The calling thread, which is one of its own, does something else for so long.
    void spend(Time time) const {
        if (!is_dead) scheduler().sleep(time);
    }

    std::chrono::system_clock::time_point now() override {
        return std::chrono::system_clock::time_point(Network::beginning + scheduler().now() + clock_jump);
    }
    std::uint64_t uniqueBits() override { return scheduler().chance.bits(); }

private:
    Network& network_;
    const std::string name_;
};

/// A connection broke: whether the statement was executed is not known.
class Lost : public sg::SaverError {
public:
    Lost() : SaverError("the connection is lost") {}
};

/// A process's connections. A call is a statement of the server's.
class Link {
public:
    explicit Link(Process& process) : process_(process) {}

    /// `call(server)`, which returns something. Errors: Lost; what the call throws.
    template <class Call>
    auto once(Call call) {
        using Answer = decltype(call(std::declval<ModelServer&>()));
        if (process_.is_dead) throw Lost();
        Network& network = process_.network();
        Scheduler& scheduler = network.scheduler;
        std::optional<Answer> answer;
        std::exception_ptr error;
        unsigned crashes = network.crashes;
        const Time there = scheduler.chance.between(Time(100), network.latency_max);
        const Time back = scheduler.chance.between(Time(100), network.latency_max);
        const bool is_lost = scheduler.chance.percent(network.lost);
        const bool is_answer_lost = scheduler.chance.percent(network.lost);
        const bool is_cut = process_.cut_until > scheduler.now();
        scheduler.at(scheduler.now() + there, [&] {
            if (is_lost || is_cut || !network.is_up || crashes != network.crashes) return;
            network.setClock();
            network.hash = (network.hash ^ static_cast<std::uint64_t>(network.server.now.count())) * 0x100000001b3ULL;
            try {
                answer = call(network.server);
            } catch (...) {
                error = std::current_exception();
            }
            if (network.after_each) network.after_each();
        });
        scheduler.sleep(there + back);
        if ((!answer && !error) || is_answer_lost || crashes != network.crashes || process_.is_dead) throw Lost();
        if (error) std::rethrow_exception(error);
        return std::move(*answer);
    }
    /// Once more over a new connection, if that breaks (PostgresPool::repeat).
    template <class Call>
    auto repeat(Call call) {
        try {
            return once(call);
        } catch (const Lost&) {
        }
        return once(call);
    }

    Process& process() noexcept { return process_; }

private:
    Process& process_;
};

}  // namespace simulation
