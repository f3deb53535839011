#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fault/kill/drive.hpp"

namespace fault {

/// What a thread's store says when no process has it open. Ids are text: their order is the order of creation.
struct Stored {
    struct Commit {
        std::string id;
        std::string parent;
        sg::Source source = sg::Source::loop;
        std::int64_t step = 0;
    };
    /// By namespace, oldest first.
    std::map<std::string, std::vector<Commit>> logs = {};
    /// Tasks at the heads that have finished, those of subgraphs that are due too.
    std::set<std::string> finished = {};
    /// Task and index of each question that waits.
    std::set<std::pair<std::string, std::uint64_t>> open = {};
    std::vector<std::string> next = {};
    std::size_t inputs = 0;
    std::int64_t step = 0;
    bool has_errors = false;

    /// Empty where the namespace has no commit.
    std::string head(const std::string& ns) const;
    bool has(const std::string& ns, const std::string& id) const;
};

/// Reads it. With `read_only` nothing changes in the folder, so that the next process has to recover by itself.
Stored readStore(const std::filesystem::path& folder, bool read_only);

/// What a finished thread holds, as text to be compared.
struct Final {
    /// The root's values, and those of `keep`.
    std::string values = {};
    std::string keep = {};
    /// One line a checkpoint of the root, newest first.
    std::vector<std::string> history = {};
};
Final readFinal(const std::filesystem::path& folder);

}  // namespace fault
