#pragma once
#include <memory>
#include <string>

#include <stategraph/saver.hpp>

namespace workflow_conformance {

namespace sg = stategraph;

/// The store of the runs, which outlives a process. One for all scenarios.
class Storage {
public:
    /// `kind` is "memory", "rocksdb:FOLDER", "sqlite:FILE" or "postgres:CONNINFO". Errors: std::invalid_argument.
    explicit Storage(const std::string& kind);

    const std::shared_ptr<sg::BaseCheckpointSaver>& saver() const noexcept { return saver_; }
    /// Deletes what an earlier run of this program may have left.
    void forget(const std::string& thread) { saver_->deleteThread(thread); }
    /// Closes a database and opens it again; a store in memory stays. Nobody else may hold the saver. Errors:
    /// std::runtime_error if somebody does.
    void reopen();

private:
    void open();

    std::string kind_;
    std::shared_ptr<sg::BaseCheckpointSaver> saver_;
};

}  // namespace workflow_conformance
