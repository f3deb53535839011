#pragma once
#include <memory>
#include <string>

#include "tests/conformance/operations.hpp"

namespace conformance {

/// Gives each scenario a saver without the threads of other scenarios.
class Savers {
public:
    /// `kind` is "memory", "later" (in memory, behind a thread), "rocksdb:FOLDER", "sqlite:FILE" or
    /// "postgres:CONNINFO". Errors: std::invalid_argument.
    explicit Savers(const std::string& kind);
    Settings next(const json::object& scenario);

private:
    std::shared_ptr<stategraph::BaseCheckpointSaver>
        shared_;  // one database for all: opening one takes longer than a scenario
    bool answers_later_ = false;
    std::size_t count_ = 0;
};

}  // namespace conformance
