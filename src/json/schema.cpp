#include "src/json/layout.hpp"

namespace stategraph {

JsonSchema::JsonSchema() : data_(std::make_shared<const Data>()) {}

// What other schemas and graphs share is copied first.
JsonSchema::Data& JsonSchema::change() {
    auto data = std::make_shared<Data>(*data_);
    Data& changed = *data;
    data_ = std::move(data);
    return changed;
}

JsonSchema& JsonSchema::channel(std::string name, JsonReducer reducer, std::vector<std::string> formerly) {
    change().channels.push_back({std::move(name), std::move(reducer), std::move(formerly)});
    return *this;
}

JsonSchema& JsonSchema::input(std::vector<std::string> channels) {
    change().input = std::move(channels);
    return *this;
}

JsonSchema& JsonSchema::output(std::vector<std::string> channels) {
    change().output = std::move(channels);
    return *this;
}

}  // namespace stategraph
