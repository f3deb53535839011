// SECONDS: 30
#include <chrono>
#include <cstdlib>
#include <iostream>

#include <doctest/doctest.h>

#include "tests/random/disturb.hpp"
#include "tests/support/sanitized.hpp"
#if STATEGRAPH_HAS_POSTGRES
#include "tests/storage/postgres/postgres_helper.hpp"
#endif

// Random graphs under random disturbances, with the same seeds in every run. STATEGRAPH_RANDOM_SEED sets another first
// seed, STATEGRAPH_RANDOM_GRAPHS sets how many graphs are tried, and STATEGRAPH_RANDOM_VERBOSE=1 prints each seed
// before it is tried, and each call (scripts/random_run.sh).
using namespace random_graph;

namespace {

std::uint64_t given(const char* variable, std::uint64_t otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

#if STATEGRAPH_HAS_POSTGRES
class PostgresStore final : public savers::Store {
public:
    std::shared_ptr<stategraph::BaseCheckpointSaver> open() override { return schema_.open(); }

private:
    postgres_tests::Schema schema_;
};
#endif

struct Tried {
    std::string wrong;  // empty if nothing was wrong
    std::string story;
};

Tried tryOnce(const GraphPlan& plan, const Undisturbed& wanted, std::uint64_t seed) {
    const auto drive = [&](savers::Store& store, bool reopens) -> Tried {
        std::optional<Disturbed> thread;
        try {
            thread.emplace(plan, wanted, seed, store, reopens);
            thread->drive();
        } catch (const std::exception& error) {
            return {error.what(), thread ? thread->story() : ""};
        }
        return {};
    };
    // A quarter of them on each kind.
    if (seed % 4 < 2 && seed % 4 < savers::lastingKinds().size())
        return drive(*savers::lastingKinds()[seed % 4].make(), true);
#if STATEGRAPH_HAS_POSTGRES
    if (seed % 4 == 2 && postgres_tests::isThere()) {
        PostgresStore store;
        return drive(store, true);
    }
#endif
    savers::MemoryStore store;
    return drive(store, false);
}

GraphPlan planOf(std::uint64_t seed) {
    Random random(seed);
    return Planner(random).make();
}

/// All plans that are simpler than this one in one place.
std::vector<GraphPlan> simpler(const GraphPlan& plan) {
    std::vector<GraphPlan> all;
    const auto with = [&](auto change) {
        for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
            GraphPlan changed = plan;
            change(changed.nodes[i]);
            if (toText(changed) != toText(plan)) all.push_back(std::move(changed));
        }
    };
    with([](NodePlan& node) { node.back = {}; });
    with([](NodePlan& node) { node.edges.clear(); });
    with([](NodePlan& node) { node.choices.clear(); });
    with([](NodePlan& node) {
        if (node.kind == Kind::subgraph || node.kind == Kind::coroutine) node.kind = Kind::blocking;
    });
    with([](NodePlan& node) { node.questions = node.failing_attempts = node.naps = 0; });
    with([](NodePlan& node) {
        node.by_command = node.is_deferred = node.is_handled = node.has_effect = node.has_limit = false;
    });
    for (std::size_t i = 0; i < plan.joins.size(); ++i) {
        GraphPlan changed = plan;
        changed.joins.erase(changed.joins.begin() + static_cast<std::ptrdiff_t>(i));
        all.push_back(std::move(changed));
    }
    for (std::size_t i = 0; i < plan.inner.size(); ++i) {
        for (GraphPlan& inner : simpler(plan.inner[i])) {
            GraphPlan changed = plan;
            changed.inner[i] = std::move(inner);
            all.push_back(std::move(changed));
        }
    }
    return all;
}

/// Returns the simplest graph found that still fails, as text, with the list of its disturbances.
std::string shrunk(GraphPlan plan, std::uint64_t seed, Tried tried) {
    const auto wrongOnes = [&](const GraphPlan& candidate) -> std::optional<Tried> {
        try {
            const Undisturbed wanted(candidate, 1);
            for (std::uint64_t i = 0; i < 40; ++i) {
                Tried again = tryOnce(candidate, wanted, seed + 4 * i);
                if (!again.wrong.empty()) return again;
            }
        } catch (const std::exception&) {
            // The plan makes no valid graph, or the graph does not end.
        }
        return {};
    };
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (bool found = true; found;) {
        found = false;
        for (GraphPlan& candidate : simpler(plan)) {
            if (std::chrono::steady_clock::now() > until) break;
            auto again = wrongOnes(candidate);
            if (!again) continue;
            plan = std::move(candidate);
            tried = std::move(*again);
            found = true;
            break;
        }
    }
    return tried.wrong + "\ngraph:\n" + toText(plan) + "calls:\n" + tried.story;
}

}  // namespace

TEST_CASE("threads of random graphs end as if nobody had disturbed them") {
    constexpr std::uint64_t usual = sanitized::some(60);
    const std::uint64_t first = given("STATEGRAPH_RANDOM_SEED", 1 + sanitized::turn() * usual);
    const std::uint64_t count = given("STATEGRAPH_RANDOM_GRAPHS", usual);
    const bool verbose = given("STATEGRAPH_RANDOM_VERBOSE", 0) != 0;
    const auto begun = std::chrono::steady_clock::now();
    std::uint64_t threads = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        // On busy machines fewer graphs are tried.
        if (count == usual && std::chrono::steady_clock::now() - begun > std::chrono::seconds(20)) break;
        if (verbose) std::cout << "seed " << seed << std::endl;
        const GraphPlan plan = planOf(seed);
        INFO("STATEGRAPH_RANDOM_SEED=", seed);
        std::optional<Undisturbed> wanted;
        try {
            wanted.emplace(plan, 1);
            const Undisturbed again(plan, 4);
            REQUIRE_MESSAGE((again.end == wanted->end && again.lines == wanted->lines),
                            "in another order it ends otherwise:\n", toText(plan));
        } catch (const std::exception& error) {
            FAIL_CHECK("undisturbed: ", std::string(error.what()), "\n", toText(plan));
            continue;
        }
        for (std::uint64_t i = 0; i < 4; ++i) {
            const Tried tried = tryOnce(plan, *wanted, seed * 1000 + i);
            ++threads;
            if (tried.wrong.empty()) continue;
            FAIL_CHECK(tried.wrong, "\ngraph:\n", toText(plan), "calls:\n", tried.story,
                       "\nshrunk: ", shrunk(plan, seed * 1000 + i, tried));
            if (!verbose) return;
        }
    }
    MESSAGE("seeds from ", first, ": ", threads, " threads");
}
