// EXPECT: stategraph: this channel has a reducer: give it a value with sg::add
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Sums {
    int last = 0;
    int sum = 0;
    static constexpr auto channels() { return sg::channels(sg::channel<&Sums::last>(), sg::channel<&Sums::sum>(sg::sum)); }
};

sg::Update<Sums> write() { return {sg::set<&Sums::sum>(1)}; }
