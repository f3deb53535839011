#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/saver.hpp>

// The threads of the golden databases: who writes them, what they look like, how they end. One file for the program
// that writes a database and for the test that reads it. What an old database needs stays for ever: threads may be
// added for a new version, none may be changed.
namespace golden {

using SharedSaver = std::shared_ptr<stategraph::BaseCheckpointSaver>;

struct Thread {
    std::string name;
    /// Stores it.
    std::function<void(const SharedSaver&)> store;
    /// Its state and the history of all its logs, as JSON.
    std::function<std::string(const SharedSaver&)> describe;
    /// Goes on until nothing is due, answering "yes"; the values it ends with, as JSON.
    std::function<std::string(const SharedSaver&)> finish;
};

}  // namespace golden
