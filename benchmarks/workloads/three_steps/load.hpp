#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/stategraph.hpp>

#include "benchmarks/support/figures.hpp"
#include "benchmarks/support/savers.hpp"

namespace bench {

/// Which of a run's three steps is next, and which run it is.
struct Steps {
    int n = 0;
    int run = 0;
    static constexpr auto channels() {
        return stategraph::channels(stategraph::channel("n", &Steps::n), stategraph::channel("run", &Steps::run));
    }
};

/// Seconds of each run, and of each superstep within the runs: from the beginning of one step to that of the next one,
/// so that the commit between them counts.
struct Times {
    std::vector<double> runs;
    std::vector<double> supersteps;
};

/// Runs of a chain of three steps on an empty saver. Each run has a thread of its own.
class Load {
public:
    Load(Store store, stategraph::Durability durability);

    /// Runs one after the other, for some seconds.
    Times alone(double seconds);
    /// `width` runs at once, for some seconds: how many a second.
    double runsPerSecond(std::size_t width, double seconds);
    /// Begins a run each 1/`rate` seconds, whether or not the ones before have ended. The time of a run counts from the
    /// moment at which it was due, so that what a slow run delays counts as slow too.
    Times atRate(double rate, double seconds);

private:
    stategraph::Update<Steps> input(int number) const;
    stategraph::RunConfig config();
    stategraph::Task<int> repeat(int number, Clock::time_point until);
    Times timesSince(const std::vector<Clock::time_point>& due, const std::vector<Clock::time_point>& ended) const;

    FreshSaver fresh_;
    const stategraph::Durability durability_;
    std::vector<std::array<Clock::time_point, 3>> began_;
    stategraph::CompiledGraph<Steps> app_;
    std::shared_ptr<stategraph::Executor> executor_;
    std::atomic<std::size_t> threads_{0};
};

}  // namespace bench
