#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/expression.hpp"
#include "tests/conformance/world.hpp"

namespace conformance {

/// The graph that contains a node.
struct GraphPlace {
    std::string ns;  // names of the enclosing nodes, joined by |
    std::set<std::string> channels;
    const GraphPlace* parent = nullptr;
};

/// Returns an update from an object, without what is no channel of `channels`.
sg::Update<sg::JsonState> updateOf(const json::value& values, const std::set<std::string>& channels);

/// One execution of a node: its actions, in order.
class NodeCall {
public:
    NodeCall(const GraphPlace& place, World& world, const json::value& input, sg::Runtime& runtime);
    sg::Command<sg::JsonState> perform(const json::value& actions);

private:
    struct Written {
        std::string channel;
        json::value value;
        bool overwrites;
    };
    void performAll(const json::value& actions);
    void performOne(const json::object& action);
    void write(const json::object& values, bool overwrites);

    const GraphPlace& place_;
    World& world_;
    sg::Runtime& runtime_;
    Environment environment_;
    std::vector<Written> written_;
    sg::Targets go_to_;
    bool to_parent_ = false;
};

}  // namespace conformance
