#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/fault/kill/store.hpp"

namespace fault {

/// Thrown if a promise was broken.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Watches one thread through all the processes that work on it. What they did (the journal) and what is stored after
/// they have ended must match. Every check throws Failure.
class Watch {
public:
    Watch(std::filesystem::path folder, sg::Durability durability)
        : folder_(std::move(folder)), durability_(durability) {}

    /// Call it between two processes, however the first one ended.
    void look(bool read_only);
    /// Call it at the end. The state must be that of an undisturbed run; with sync and async every checkpoint must be,
    /// too.
    void checkFinal(const Final& undisturbed) const;

    const Stored& stored() const noexcept { return stored_; }
    /// Returns how many tasks a later process started again.
    std::size_t repeated() const noexcept { return repeated_; }

private:
    void checkLogs() const;
    void checkLine(const Words& line);
    void checkStart(const Words& line);
    void checkEffects(const Words& line);
    void checkAcknowledged() const;

    std::filesystem::path folder_;
    sg::Durability durability_;
    Stored stored_;
    std::size_t lines_ = 0;
    std::size_t repeated_ = 0;
    // Times of the process that is being checked, and of those before it.
    std::set<std::string> ended_;
    std::set<std::string> started_;
    std::set<std::string> started_before_;
    std::set<std::pair<std::string, std::string>> effects_;
    // What was acknowledged: checkpoints of inputs by round, of runs that returned, and the last answers.
    std::map<std::string, std::string> inputs_;
    std::set<std::string> runs_;
    std::set<std::pair<std::string, std::uint64_t>> answers_;
};

}  // namespace fault
