#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/serve/log.hpp>

namespace stategraph::serve {

/// What a server counts, for Prometheus. Values of labels are operations, statuses, endings, limits and the names of
/// endpoints, so that clients cannot make series. Safe from any thread; what cannot be counted without memory is not.
class Metrics {
public:
    using Span = std::chrono::steady_clock::duration;

    void countRequest(std::string_view operation, int status, Span took) noexcept;
    void countRun(const std::string& endpoint, std::string_view ending) noexcept;
    /// `limit` is the name of a member of ClientLimits or ServerOptions.
    void countRefused(std::string_view limit) noexcept;
    /// How long a store took for something: "put" or "check".
    void countStore(std::string_view what, Span took) noexcept;

    /// What is counted elsewhere.
    struct Now {
        std::size_t runs = 0;
        std::size_t connections = 0;
        std::size_t streams = 0;
        bool is_draining = false;
    };
    std::string text(const Now& now, const std::vector<Gauge>& gauges) const;

private:
    /// How many took at most that many seconds.
    static constexpr std::array<std::pair<double, const char*>, 9> bounds{{{0.001, "0.001"},
                                                                           {0.005, "0.005"},
                                                                           {0.025, "0.025"},
                                                                           {0.1, "0.1"},
                                                                           {0.25, "0.25"},
                                                                           {1, "1"},
                                                                           {5, "5"},
                                                                           {30, "30"},
                                                                           {300, "300"}}};
    struct Histogram {
        std::array<std::uint64_t, bounds.size()> buckets = {};
        std::uint64_t count = 0;
        double sum = 0;
        void add(Span took) noexcept;
    };
    static void write(std::string& out, const char* name, const char* label,
                      const std::map<std::string, Histogram>& table);

    mutable stategraph::detail::Mutex mutex_;
    std::map<std::pair<std::string, int>, std::uint64_t> requests_ SG_GUARDED_BY(mutex_);
    std::map<std::string, Histogram> request_times_ SG_GUARDED_BY(mutex_);
    std::map<std::pair<std::string, std::string>, std::uint64_t> runs_ SG_GUARDED_BY(mutex_);
    std::map<std::string, std::uint64_t> refused_ SG_GUARDED_BY(mutex_);
    std::map<std::string, Histogram> store_times_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::serve
