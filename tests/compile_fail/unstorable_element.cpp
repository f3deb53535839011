// EXPECT: stategraph: this type cannot be stored
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Item {
    int* pointer = nullptr;
};
struct Items {
    std::vector<Item> items = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&Items::items>(sg::append)); }
};

sg::Update<Items> write() { return {sg::add<&Items::items>(Item{})}; }
sg::StateGraph<Items> graph;
