#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/workflow/from_json.hpp>

// What a workflow whose text comes from somebody else may use.
namespace stategraph::workflow::from_json {

/// Returns the largest value that a run of this workflow makes. A run keeps one of each entry, so in a workflow with
/// many entries it is smaller than the options say.
std::size_t valueBytesMax(const JsonLimits& limits, const boost::json::value& workflow);

/// The loops of a workflow, and of those inside its steps, while they are read. A loop that never ends would be a run
/// that never ends, each turn is stored, and loops inside of loops multiply.
class LoopLimits {
public:
    LoopLimits(std::int64_t iterations_max, std::size_t value_bytes_max) noexcept
        : iterations_max_(iterations_max), value_bytes_max_(value_bytes_max) {}

    /// Returns the condition of another loop, which fails when the loop has run often enough, or has made too much.
    Condition limited(Condition condition, bool goes_on_if);

    using Mark = std::size_t;
    Mark mark() const noexcept { return loops_.size(); }
    /// The loops since then are inside of this workflow, which is a step.
    void addWithin(const Definition* workflow, Mark since);
    /// The entry repeats its steps. Those that are workflows have loops inside of a loop.
    void beginInside(const Entry& entry);

private:
    const std::int64_t iterations_max_;
    const std::size_t value_bytes_max_;
    std::vector<std::shared_ptr<std::int64_t>> loops_;  // how often each body may run
    std::map<const Definition*, std::vector<std::shared_ptr<std::int64_t>>> within_;
    std::set<const Definition*> repeated_;
};

}  // namespace stategraph::workflow::from_json
