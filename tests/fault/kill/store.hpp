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

/// The content of a thread's store when no process has it open. Ids are text whose order is the order of creation.
struct Stored {
    struct Commit {
        std::string id;
        std::string parent;
        sg::Source source = sg::Source::loop;
        std::int64_t step = 0;
    };
    /// By namespace, the oldest first.
    std::map<std::string, std::vector<Commit>> logs = {};
    /// Tasks at the heads that have finished, including those of subgraphs that are due.
    std::set<std::string> finished = {};
    /// Task and index of each open question.
    std::set<std::pair<std::string, std::uint64_t>> open = {};
    std::vector<std::string> next = {};
    std::size_t inputs = 0;
    std::int64_t step = 0;
    bool has_errors = false;

    /// Returns an empty text if the namespace has no commit.
    std::string head(const std::string& ns) const;
    bool has(const std::string& ns, const std::string& id) const;
};

/// Reads the store. With `read_only` nothing changes in the folder, so that the next process has to recover by itself.
Stored readStore(const std::filesystem::path& folder, bool read_only);

/// The content of a finished thread, as text for comparisons.
struct Final {
    /// The values of the root, and those of `keep`.
    std::string values = {};
    std::string keep = {};
    /// One line for each checkpoint of the root, newest first.
    std::vector<std::string> history = {};
};
Final readFinal(const std::filesystem::path& folder, const std::string& thread = thread_id);

}  // namespace fault
