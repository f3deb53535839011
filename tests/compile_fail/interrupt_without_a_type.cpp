// EXPECT: stategraph: a question has the type of its answer: sg::interrupt<bool>(runtime, question)
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

sg::Update<State> ask(const State&, sg::Runtime& runtime) {
    const bool approved = sg::interrupt(runtime, "May we?");
    return {sg::set<&State::foo>(approved ? "yes" : "no")};
}
