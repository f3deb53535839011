#pragma once
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <string>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/serve/server.hpp>

#include "serve/http.hpp"
#include "serve/run_table.hpp"

namespace stategraph::serve {

class Connection;

struct Page {
    std::string content_type;
    std::string text;
};

/// The data that all connections of a server share.
struct Shared {
    explicit Shared(ServerOptions given)
        : options(std::move(given)),
          runs(std::make_shared<RunTable>(options.runs_max, options.executor ? options.executor : Executor::common())) {
    }

    /// Returns null if there is none.
    std::shared_ptr<Endpoint> endpoint(const std::string& name) const {
        const stategraph::detail::LockGuard lock(mutex);
        const auto found = endpoints.find(name);
        return found == endpoints.end() ? nullptr : found->second;
    }

    /// Returns null if there is none.
    std::shared_ptr<const Handler> handler(const std::string& name) const {
        const stategraph::detail::LockGuard lock(mutex);
        const auto found = handlers.find(name);
        return found == handlers.end() ? nullptr : found->second;
    }

    bool hasPage(const std::string& path) const {
        const stategraph::detail::LockGuard lock(mutex);
        return pages.contains(path);
    }

    const ServerOptions options;
    const std::shared_ptr<RunTable> runs;
    std::atomic<std::size_t> connections = 0;
    std::atomic<bool> is_draining = false;
    /// The bytes that all replays use.
    const std::shared_ptr<std::atomic<std::size_t>> replay_bytes = std::make_shared<std::atomic<std::size_t>>(0);
    /// Guards the list of existing connections, to which each adds itself, and from which each removes itself.
    stategraph::detail::Mutex open_mutex;
    std::list<Connection*> open SG_GUARDED_BY(open_mutex);

    mutable stategraph::detail::Mutex mutex;
    std::map<std::string, std::shared_ptr<Endpoint>> endpoints SG_GUARDED_BY(mutex);
    std::map<std::string, std::shared_ptr<const Handler>> handlers SG_GUARDED_BY(mutex);
    std::map<std::string, Page> pages SG_GUARDED_BY(mutex);
};

}  // namespace stategraph::serve
