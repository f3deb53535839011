#pragma once
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/mcp/client.hpp>

#include "tests/support/temporary_folder.hpp"

// The scripted server (tests/mcp/server), and what it notes.
namespace mcp_servers {

namespace mcp = stategraph::mcp;

inline std::string program() {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "stategraph-mcp-server").string();
}

/// The scripted server as options for a process.
inline mcp::ProcessOptions scripted(const std::string& mode = {}, const std::filesystem::path& notes = {}) {
    mcp::ProcessOptions options;
    options.command = program();
    if (!mode.empty()) options.arguments.push_back(mode);
    if (!notes.empty()) options.environment.emplace_back("MCP_TEST_NOTES", notes.string());
    // These do not end by themselves; the others have time for that on a busy machine.
    const bool is_endless = mode == "deaf" || mode == "flood" || mode == "noise" || mode == "stubborn";
    if (!is_endless) options.end_wait = std::chrono::minutes(5);
    // Sanitizers and other tools may need to find their files.
    for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH"})
        options.inherited.emplace_back(name);
    return options;
}

inline mcp::Client client(const std::string& mode = {}, mcp::ClientOptions options = {},
                          const std::filesystem::path& notes = {}) {
    options.name = "scripted";
    // On a busy machine a process may begin late.
    const mcp::ClientOptions usual;
    if (options.connect_timeout == usual.connect_timeout) options.connect_timeout = std::chrono::minutes(5);
    if (options.timeout == usual.timeout) options.timeout = std::chrono::minutes(5);
    return mcp::Client(mcp::process(scripted(mode, notes)), std::move(options));
}

/// Calls it, and returns the error that it must throw.
template <class F>
mcp::McpError failureOf(F f) {
    try {
        f();
    } catch (const mcp::McpError& error) {
        return error;
    }
    FAIL("no error");
    return {mcp::Failure::tool, ""};
}

inline std::vector<std::string> linesOf(const std::filesystem::path& file) {
    std::vector<std::string> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

}  // namespace mcp_servers
