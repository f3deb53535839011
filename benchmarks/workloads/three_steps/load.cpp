#include "benchmarks/workloads/three_steps/load.hpp"

#include <latch>
#include <stdexcept>
#include <thread>

namespace bench {
namespace {

namespace sg = stategraph;

sg::StateGraph<Steps> chain(std::vector<std::array<Clock::time_point, 3>>& began) {
    const auto step = [&began](const Steps& s) -> sg::Update<Steps> {
        began[static_cast<std::size_t>(s.run)][static_cast<std::size_t>(s.n)] = Clock::now();
        return {sg::set(&Steps::n, s.n + 1)};
    };
    sg::StateGraph<Steps> graph;
    graph.addNode("a", step).addNode("b", step).addNode("c", step);
    graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", "c").addEdge("c", sg::END);
    return graph;
}

// A commit of a database in this process holds a thread until the disk has answered, and one on a server does not.
std::size_t threadsFor(Store store) { return store == Store::postgres ? std::thread::hardware_concurrency() : 64; }

double secondsBetween(Clock::time_point a, Clock::time_point b) { return std::chrono::duration<double>(b - a).count(); }

}  // namespace

Load::Load(Store store, sg::Durability durability)
    : fresh_(store),
      durability_(durability),
      app_(chain(began_).compile({.checkpointer = fresh_.saver})),
      executor_(std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = threadsFor(store)})) {}

sg::Update<Steps> Load::input(int number) const { return {sg::set(&Steps::n, 0), sg::set(&Steps::run, number)}; }

sg::RunConfig Load::config() { return {.thread_id = "t" + std::to_string(threads_++), .durability = durability_}; }

sg::Task<int> Load::repeat(int number, Clock::time_point until) {
    int ended = 0;
    while (Clock::now() < until) {
        const auto result = co_await app_.asyncInvoke(input(number), config());
        if (result.values.n != 3) throw std::runtime_error("wrong result");
        ++ended;
    }
    co_return ended;
}

Times Load::timesSince(const std::vector<Clock::time_point>& due, const std::vector<Clock::time_point>& ended) const {
    Times times;
    for (std::size_t i = 0; i < due.size(); ++i) {
        times.runs.push_back(secondsBetween(due[i], ended[i]));
        for (std::size_t step = 0; step < 2; ++step)
            times.supersteps.push_back(secondsBetween(began_[i][step], began_[i][step + 1]));
    }
    return times;
}

Times Load::alone(double seconds) {
    began_.assign(1, {});
    Times times;
    for (const auto begin = Clock::now(); secondsSince(begin) < seconds;) {
        const auto due = Clock::now();
        if (app_.invoke(input(0), config()).values.n != 3) throw std::runtime_error("wrong result");
        const Times one = timesSince({due}, {Clock::now()});
        times.runs.push_back(one.runs.front());
        times.supersteps.insert(times.supersteps.end(), one.supersteps.begin(), one.supersteps.end());
    }
    return times;
}

double Load::runsPerSecond(std::size_t width, double seconds) {
    began_.assign(width, {});
    const auto begin = Clock::now();
    const auto until = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::vector<sg::Spawning<int>> all;
    for (std::size_t i = 0; i < width; ++i) all.push_back(sg::spawn(executor_, repeat(static_cast<int>(i), until)));
    int ended = 0;
    for (auto& one : all) ended += one.get();
    return ended / secondsSince(begin);
}

Times Load::atRate(double rate, double seconds) {
    const auto count = static_cast<std::size_t>(rate * seconds) + 1;
    began_.assign(count, {});
    std::vector<Clock::time_point> due(count);
    std::vector<Clock::time_point> ended(count);
    const auto all = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(count));
    std::atomic<bool> is_wrong{false};
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < count; ++i) {
        due[i] = begin + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(static_cast<double>(i) / rate));
        std::this_thread::sleep_until(due[i]);
        sg::spawn(executor_, app_.asyncInvoke(input(static_cast<int>(i)), config()),
                  [&, all, i](sg::Outcome<sg::Result<Steps>> outcome) {
                      ended[i] = Clock::now();
                      if (outcome.error() || outcome.get().values.n != 3) is_wrong = true;
                      all->count_down();
                  });
    }
    all->wait();
    if (is_wrong) throw std::runtime_error("wrong result");
    return timesSince(due, ended);
}

}  // namespace bench
