#pragma once
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <stategraph/error.hpp>

namespace fuzz {

/// What `found` prints too, so that the failure can be repeated; empty if there is nothing.
inline std::string repeated_by;

/// Ends the process, and prints why.
[[noreturn]] inline void found(const std::string& why) {
    std::fprintf(stderr, "%s\n%s\n", why.c_str(), repeated_by.c_str());
    std::abort();
}

/// Calls it. Returns false if it throws an Error of the library; another exception is a failure.
template <class F>
bool accepts(const char* what, F f) {
    try {
        f();
        return true;
    } catch (const stategraph::Error&) {
        return false;
    } catch (const std::exception& error) {
        found(std::string(what) + " throws " + error.what());
    }
}

}  // namespace fuzz
