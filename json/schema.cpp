#include <atomic>
#include <memory>

#include "json/layout.hpp"

#if defined(__SANITIZE_THREAD__)
#define STATEGRAPH_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STATEGRAPH_THREAD_SANITIZER
#endif
#endif

namespace stategraph {
namespace {

/// Returns whether there is no other owner. If so, every former owner, on any thread, has finished with it.
template <class T>
bool isAlone(const std::shared_ptr<T>& data) noexcept {
#ifdef STATEGRAPH_THREAD_SANITIZER
    return data == nullptr;  // ThreadSanitizer does not know fences, so each change makes a copy there
#else
    if (data.use_count() != 1) return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    return true;
#endif
}

}  // namespace

JsonSchema::JsonSchema() : data_(std::make_shared<Data>()) {}

// Data that other schemas share are copied first. Data of this schema alone are not, because otherwise creating a
// schema of n channels would cost n².
JsonSchema::Data& JsonSchema::change() {
    if (!isAlone(data_)) data_ = std::make_shared<Data>(*data_);
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
