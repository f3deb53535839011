#pragma once
#include <string>

namespace fuzz {

/// An input to begin with.
struct Sample {
    std::string name;
    std::string bytes;
};

}  // namespace fuzz
