#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/saver.hpp>

// The threads of the golden databases: how they are written, what they look like, and how they end. The program that
// writes a database and the test that reads it share this file. What an old database needs stays forever: threads may
// be added for a new version, but none may be changed.
namespace golden {

using SharedSaver = std::shared_ptr<stategraph::BaseCheckpointSaver>;

struct Thread {
    std::string name;
    /// Stores it.
    std::function<void(const SharedSaver&)> store;
    /// Returns its state and the history of all its logs, as JSON.
    std::function<std::string(const SharedSaver&)> describe;
    /// Continues until nothing is due, with the answer "yes". Returns the final values as JSON.
    std::function<std::string(const SharedSaver&)> finish;
};

}  // namespace golden
