#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/fault/kill/store.hpp"

namespace fault {

/// A promise that was broken.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Watches one thread through all the processes that work on it: what they did (the journal) and what is stored when
/// they are gone must fit each other. Every check throws Failure.
class Watch {
public:
    Watch(std::filesystem::path folder, sg::Durability durability)
        : folder_(std::move(folder)), durability_(durability) {}

    /// To be called between two processes, whatever ended the first.
    void look(bool read_only);
    /// To be called at the end: the state must be that of an undisturbed run. With sync and async every checkpoint must
    /// be, too.
    void checkFinal(const Final& undisturbed) const;

    const Stored& stored() const noexcept { return stored_; }
    /// How many tasks were started again by a later process.
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
    // Of the process that is looked at, and of those before it.
    std::set<std::string> ended_;
    std::set<std::string> started_;
    std::set<std::string> started_before_;
    std::set<std::pair<std::string, std::string>> effects_;
    // Acknowledged: checkpoints of inputs by round, of runs that returned, and the last answers.
    std::map<std::string, std::string> inputs_;
    std::set<std::string> runs_;
    std::set<std::pair<std::string, std::uint64_t>> answers_;
};

}  // namespace fault
