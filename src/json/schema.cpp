#include <atomic>

#include "src/json/layout.hpp"

namespace stategraph {

JsonSchema::JsonSchema() : data_(std::make_shared<Data>()) {}

// What other schemas share is copied first; what is this one's alone is not, or a schema of n channels would cost n² to make.
JsonSchema::Data& JsonSchema::change() {
    if (data_.use_count() == 1) {
        std::atomic_thread_fence(std::memory_order_acquire);  // who held it too, on another thread, is done with it
    } else {
        data_ = std::make_shared<Data>(*data_);
    }
    return *data_;
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
