#pragma once
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/inspect/server.hpp>
#include <stategraph/serve/handler.hpp>
#include <stategraph/snapshot.hpp>

#include "inspect/http/page_runs.hpp"
#include "inspect/http/redaction.hpp"
#include "inspect/http/value_cache.hpp"

namespace stategraph::inspect {

/// Answers the requests of the page: /api/…, as docs/inspector_api.md lists them. It needs no socket, so that tests and
/// fuzzers can call it. Safe from any thread.
class Api {
public:
    /// Errors: InvalidArgumentError for a null saver or an empty pattern.
    Api(std::shared_ptr<BaseCheckpointSaver> saver, ServerOptions options);

    void add(const std::string& name, std::shared_ptr<ServedGraph> graph);
    /// Throws the errors of the operations, which the server answers with 4xx and 5xx.
    serve::HandlerAnswer answer(const serve::HandlerRequest& request);
    /// Whether a request has the key. Cost: the same for any key of this length.
    bool hasKey(const serve::RequestView& request) const noexcept;

    const ServerOptions& options() const noexcept { return options_; }
    const Redaction& redaction() const noexcept { return redaction_; }
    BaseCheckpointSaver& saver() const noexcept { return *saver_; }
    const std::shared_ptr<BaseCheckpointSaver>& sharedSaver() const noexcept { return saver_; }
    PageRuns& runs() noexcept { return runs_; }
    /// Counts a client that follows an answer, as long as the result lives. Null if there are `followers_max` already.
    std::shared_ptr<void> addFollower();
    static constexpr std::size_t followers_max = 128;
    std::map<std::string, std::shared_ptr<ServedGraph>> graphs() const;
    /// Returns the values of a checkpoint without what is redacted, or null if there is no such checkpoint.
    std::shared_ptr<const Value> values(const Config& checkpoint);
    /// Returns these values if they are among those that were read last, otherwise null.
    std::shared_ptr<const Value> keptValues(const Config& checkpoint);
    /// Takes the values out of a snapshot that was read with them; `values` returns them then.
    std::shared_ptr<const Value> keepValues(SnapshotData& snapshot);

private:
    const std::shared_ptr<BaseCheckpointSaver> saver_;
    const ServerOptions options_;
    const Redaction redaction_;
    ValueCache cache_;
    PageRuns runs_;
    const std::shared_ptr<std::atomic<std::size_t>> followers_ = std::make_shared<std::atomic<std::size_t>>(0);
    mutable stategraph::detail::Mutex mutex_;
    std::map<std::string, std::shared_ptr<ServedGraph>> graphs_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::inspect
