#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>

// What all readers without a graph begin with.
namespace stategraph::reading {

/// Throws InvalidArgumentError, naming the function, for a config without a thread.
void requireThread(const Config& config, const char* function);

inline LogName logOf(const Config& config) noexcept { return {config.thread_id.view(), config.checkpoint_ns}; }

/// Calls `read()`, and adds the thread and the namespace to its errors.
template <class Read>
auto named(const Config& config, Read read) {
    try {
        return read();
    } catch (Error& error) {
        error.addContext({.thread_id = config.thread_id.toString(), .checkpoint_ns = config.checkpoint_ns});
        throw;
    }
}

}  // namespace stategraph::reading
