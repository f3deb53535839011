#pragma once
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/inspect/command.hpp>

// Runs the command line in the test's process.
namespace inspected {

/// What a command returned and wrote.
struct CommandRun {
    stategraph::inspect::Exit exit;
    std::string out;
    std::string error;
    bool has(std::string_view text) const { return out.find(text) != std::string::npos; }
};

inline CommandRun runCommand(const std::vector<std::string>& arguments,
                             const stategraph::inspect::CommandOptions& options = {}) {
    std::ostringstream out;
    std::ostringstream error;
    const auto exit = stategraph::inspect::runCommand(arguments, out, error, options);
    return {exit, out.str(), error.str()};
}

}  // namespace inspected
