#pragma once
#include <vector>

#include <stategraph/stategraph.hpp>

namespace bench {

/// Workers write into a list, and a join counts it.
struct Team {
    std::vector<int> done = {};
    int count = 0;
    static constexpr auto channels() {
        return stategraph::channels(stategraph::channel("done", &Team::done, stategraph::append),
                                    stategraph::channel("count", &Team::count));
    }
};

inline stategraph::Update<Team> countDone(const Team& s) {
    return {stategraph::set(&Team::count, static_cast<int>(s.done.size()))};
}

/// The hand-written version: functions in a vector, whose results go into a list.
using Worker = int (*)(const Team&, int);
inline int workByHand(const Team&, int number) { return number; }
inline int teamByHand(const std::vector<Worker>& workers) {
    Team team;
    std::vector<int> results(workers.size());
    for (std::size_t i = 0; i < workers.size(); ++i) results[i] = workers[i](team, static_cast<int>(i));
    team.done.insert(team.done.end(), results.begin(), results.end());
    team.count = static_cast<int>(team.done.size());
    return team.count;
}

}  // namespace bench
