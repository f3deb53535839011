#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/answer.hpp>

#include "tests/worker/simulation/checks.hpp"

namespace simulation {

/// What a schedule came to.
struct Outcome {
    std::string wrong;  // empty: all that must hold did
    std::uint64_t events = 0;
    Time took{0};            // by the virtual clock
    std::uint64_t hash = 0;  // of everything that reached the server
    // What happened, over all of the schedule's workers.
    std::uint64_t finished = 0;
    std::uint64_t leases_lost = 0;
    std::uint64_t set_aside = 0;
    std::uint64_t lost_writes = 0;

    void add(const Outcome& other) {
        events += other.events;
        finished += other.finished;
        leases_lost += other.leases_lost;
        set_aside += other.set_aside;
        lost_writes += other.lost_writes;
    }
};

/// One seed's workers, clients and faults, from the first input until all is done.
class Schedule {
public:
    /// `is_told`: what happens is printed.
    Schedule(std::uint64_t seed, Broken broken, FiberPool& pool, bool is_told = false)
        : seed_(seed),
          scheduler_(seed, pool),
          network_(scheduler_, broken),
          checks_(network_),
          client_(network_, "client") {
        network_.is_told = is_told;
        network_.server.on_put = [this, note = std::move(network_.server.on_put)](const StoredPut& put) {
            note(put);
            countPut();
        };
        choose();
    }

    Outcome run() {
        for (std::size_t i = 0; i < workers_count_; ++i) addWorker();
        scheduler_.start([this] { submitAll(); });
        scheduler_.start([this] { attend(); });
        for (std::size_t i = scheduler_.chance.below(7); i > 0; --i) {
            if (scheduler_.chance.percent(50))
                scheduler_.at(scheduler_.chance.between(Time(0), faults_end), [this] { fault(); });
            else
                puts_until_fault_.push_back(1 + scheduler_.chance.below(6));
        }
        constexpr std::size_t events_max = 200'000;
        if (!scheduler_.run(events_max)) {
            // Threads that still wait cannot be ended.
            std::fprintf(stderr, "STATEGRAPH_SEED=%llu does not end: %zu threads wait at %lld ms, after %zu events\n",
                         static_cast<unsigned long long>(seed_), scheduler_.alive(),
                         static_cast<long long>(scheduler_.now() / 1ms), scheduler_.events());
            std::abort();
        }
        checks_.checkStore();
        return outcome();
    }

private:
    static constexpr Time faults_end = 6s;
    static constexpr Time must_be_done = 180s;  // many times what a schedule without faults takes
    static constexpr auto lease = 3s;

    void choose() {
        Chance& chance = scheduler_.chance;
        workers_count_ = 1 + chance.below(3);
        options_.slots = 1 + chance.below(3);
        options_.lease = lease;
        options_.poll_interval = 700ms;
        options_.backoff = 200ms;
        options_.backoff_max = 2s;
        options_.drain_timeout = chance.percent(50) ? 2s : 0s;
        options_.attempts_max = chance.percent(30) ? 2 : 1000;
        options_.keys_kept = chance.percent(20) ? 60s : 3600s;
        constexpr sg::Durability durabilities[] = {sg::Durability::sync, sg::Durability::async, sg::Durability::exit};
        durability_ = durabilities[chance.below(3)];
        habits_.fails = chance.percent(30) ? 10 : 0;
        habits_.most = chance.percent(20) ? Time(4s) : Time(40ms);
        network_.lost = chance.percent(50) ? 0 : static_cast<unsigned>(chance.below(10));
        network_.latency_max = chance.percent(20) ? Time(300ms) : Time(3ms);
        network_.server.is_sync_by_default = chance.percent(50);
        checks_.longest_wait = lease + network_.latency_max;
        const std::size_t threads = 1 + chance.below(3);
        const std::size_t inputs = 1 + chance.below(4);
        for (std::size_t i = 0; i < inputs; ++i)
            checks_.inputs.push_back({.thread_id = "t" + std::to_string(chance.below(threads)),
                                      .input = static_cast<int>(i) + 1,
                                      .count = 1 + static_cast<int>(chance.below(3)),
                                      .has_key = chance.percent(80)});
        if (chance.percent(15)) cancels_ = checks_.inputs[chance.below(inputs)].thread_id;
    }

    void addWorker() {
        if (is_over_) return;
        workers_.push_back(std::make_unique<SimulatedWorker>(network_, "w" + std::to_string(workers_.size()), options_,
                                                             durability_, habits_));
        SimulatedWorker& worker = *workers_.back();
        worker.saver->on_stored = [this](const sg::PutRequest& request) { checks_.acknowledged(request); };
        worker.start();
    }

    // ---------------------------------------------------------------------------------------------------- clients
    void submitAll() {
        for (KnownInput& each : checks_.inputs) {
            scheduler_.sleep(scheduler_.chance.between(Time(0), 1500ms));
            submit(each);
            if (each.has_key && scheduler_.chance.percent(10)) submit(each);  // as a webhook that comes twice
        }
        if (!cancels_.empty()) cancel();
        has_submitted_ = true;
    }
    void submit(KnownInput& input) {
        constexpr Deed deeds[] = {Deed::nothing, Deed::nothing, Deed::asks, Deed::sleeps, Deed::asks_and_sleeps};
        sg::QueuedInput given{.thread_id = input.thread_id,
                              .graph = "graph",
                              .input = inputOf(input.input, input.count, deeds[scheduler_.chance.below(5)])};
        if (input.has_key) given.key = "key " + std::to_string(input.input);
        Link link(client_);
        const auto call = [&](ModelServer& server) { return server.submit(std::span(&given, 1)).front(); };
        for (;;) {
            try {
                const auto receipt = input.has_key ? link.repeat(call) : link.once(call);
                if (!input.number) input.number = receipt.number;
                return;
            } catch (const sg::SaverError&) {
                if (!input.has_key) return;  // it may be stored, or not
                scheduler_.sleep(100ms);
            }
        }
    }
    void cancel() {
        Link link(client_);
        try {
            (void)link.repeat([&](ModelServer& server) {
                if (server.cancel(cancels_)) checks_.cancelled[cancels_] = server.queue().numbers;
                return true;
            });
        } catch (const sg::SaverError&) {
        }
    }

    // Answers questions, has threads that were set aside tried again, and ends the schedule when nothing is left.
    void attend() {
        LinkedSaver saver(client_);
        while (!isDone() && scheduler_.now() < must_be_done && checks_.found().empty()) {
            scheduler_.sleep(600ms);
            std::vector<std::string> waiting;
            std::vector<std::string> aside;
            for (const auto& [name, thread] : network_.server.queue().threads) {
                if (thread.work && thread.work->is_aside) aside.push_back(name);
                if (thread.work && thread.work->state == sg::WorkState::waits && !thread.work->due)
                    waiting.push_back(name);
            }
            for (const std::string& name : aside) retry(name);
            for (const std::string& name : waiting) answer(saver, name);
            if (scheduler_.now() > faults_end &&
                std::ranges::none_of(workers_, [](const auto& each) { return each->isUp(); }))
                addWorker();
        }
        if (!isDone()) checks_.wrong("it is not done after " + std::to_string(scheduler_.now() / 1s) + " s: " + left());
        is_over_ = true;
        for (const auto& each : workers_) each->drain();
    }
    bool isDone() {
        return has_submitted_ && scheduler_.now() > faults_end &&
               std::ranges::none_of(network_.server.queue().threads,
                                    [](const auto& each) { return each.second.work.has_value(); });
    }
    std::string left() {
        for (const auto& [name, thread] : network_.server.queue().threads) {
            if (thread.work)
                return "thread " + name + " is " + sg::toString(thread.work->state) + ", " +
                       (thread.work->due ? "due" : "not due") + ", '" + thread.work->error + "'";
        }
        return "inputs are missing";
    }
    void retry(const std::string& name) {
        ++set_aside_;
        try {
            (void)Link(client_).repeat([&](ModelServer& server) { return server.retry(name); });
        } catch (const sg::SaverError&) {
        }
    }
    void answer(LinkedSaver& saver, const std::string& name) {
        try {
            (void)sg::answer(saver, {.thread_id = name}, sg::Value(1), {.durability = durability_});
        } catch (const sg::Error&) {  // it was answered meanwhile, or the server is down
        }
    }

    // ----------------------------------------------------------------------------------------------------- faults
    // Half of them come soon after a commit, where most can go wrong.
    void countPut() {
        if (scheduler_.now() > faults_end) return;
        for (std::size_t& each : puts_until_fault_) {
            if (each == 0 || --each > 0) continue;
            const Time soon = scheduler_.chance.between(Time(0), 3 * network_.latency_max);
            scheduler_.at(scheduler_.now() + soon, [this] { fault(); });
        }
    }
    void fault() {
        Chance& chance = scheduler_.chance;
        SimulatedWorker& worker = *workers_[chance.below(workers_.size())];
        const Time soon = scheduler_.now() + chance.between(Time(1ms), 6s);
        const std::size_t kind = chance.below(7);
        network_.say("fault " + std::to_string(kind) + " of " + worker.process.name());
        switch (kind) {
            case 0:
                worker.process.freeze.until = soon;
                break;
            case 1:
                worker.kill();
                scheduler_.at(soon, [this] { addWorker(); });
                break;
            case 2:
                worker.drain();
                scheduler_.at(soon, [this] { addWorker(); });
                break;
            case 3:
                worker.process.cut_until = soon;
                break;
            case 4:
                crashServer();
                break;
            case 5:
                network_.clock_jump += chance.between(-5s, 5s);
                checks_.longest_wait += 5s;
                break;
            default:
                worker.process.clock_jump += chance.between(-4s, 4s);
                break;
        }
    }
    void crashServer() {
        ++network_.crashes;
        network_.is_up = false;
        network_.server.crash([this](std::size_t unsafe) {
            const std::size_t kept = scheduler_.chance.below(unsafe + 1);
            lost_writes_ += unsafe - kept;
            return kept;
        });
        scheduler_.at(scheduler_.now() + scheduler_.chance.between(Time(1ms), 2s), [this] { network_.is_up = true; });
    }

    Outcome outcome() {
        Outcome outcome{.wrong = checks_.found(), .took = scheduler_.now()};
        for (const auto& each : workers_) {
            const sg::WorkerMetrics metrics = each->metrics();
            outcome.finished += metrics.finished;
            outcome.leases_lost += metrics.leases_lost;
        }
        outcome.set_aside = set_aside_;
        outcome.lost_writes = lost_writes_;
        outcome.hash = network_.hash;
        outcome.events = scheduler_.events();
        return outcome;
    }

    const std::uint64_t seed_;
    Scheduler scheduler_;
    Network network_;
    Checks checks_;
    Process client_;
    sg::WorkerOptions options_;
    std::size_t workers_count_ = 1;
    sg::Durability durability_ = sg::Durability::async;
    NodeHabits habits_;
    std::string cancels_;
    std::vector<std::size_t> puts_until_fault_;
    bool has_submitted_ = false;
    bool is_over_ = false;
    std::uint64_t set_aside_ = 0;
    std::uint64_t lost_writes_ = 0;
    std::vector<std::unique_ptr<SimulatedWorker>> workers_;
};

}  // namespace simulation
