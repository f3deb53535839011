#pragma once
#include <string>
#include <vector>

#include <stategraph/channel.hpp>

// The state of graphs that tests serve. It is not in an unnamed namespace, because the coroutines that the server's
// templates instantiate with it have external names.
namespace served {

struct State {
    std::vector<std::string> said = {};
    static constexpr auto channels() {
        return stategraph::channels(stategraph::channel("said", &State::said, stategraph::append));
    }
};

}  // namespace served
