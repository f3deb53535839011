#pragma once
#include <atomic>
#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/thread_pool.hpp>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/serve/server.hpp>

#include "serve/client.hpp"
#include "serve/held.hpp"
#include "serve/http.hpp"
#include "serve/metrics.hpp"
#include "serve/rates.hpp"
#include "serve/readiness.hpp"
#include "serve/run_table.hpp"
#include "serve/streams.hpp"
#include "serve/told_errors.hpp"

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
          runs(std::make_shared<RunTable>(options.runs_max, options.executor ? options.executor : Executor::common())),
          errors(options.show_errors, options.log) {}

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
    Metrics metrics;
    const Proxies proxies{options.per_client.proxies};
    /// The limits of each client.
    Rates requests_left{options.per_client.requests, options.per_client.clients_max};
    Rates runs_left{options.per_client.runs, options.per_client.clients_max};
    Rates bytes_left{options.per_client.stored_bytes, options.per_client.clients_max};
    const std::shared_ptr<Held> held_connections = std::make_shared<Held>(options.per_client.connections_max);
    const std::shared_ptr<Held> held_streams = std::make_shared<Held>(options.per_client.streams_max);
    Streams streams;
    Readiness readiness;

    ToldErrors errors;
    std::atomic<std::size_t> connections = 0;
    std::atomic<std::size_t> refused = 0;  // connections beyond a limit that are being answered
    std::atomic<bool> is_draining = false;
    std::atomic<bool> has_ended = false;
    /// Reads large bodies, one after the other, so that they do not hold up what connections' threads do for others.
    asio::thread_pool large_bodies{1};
    /// Its thread alone uses this: until when it rests, which is three times as long as it worked for the last body. So
    /// bodies take at most a quarter of a processor, and others' requests, which are short, wait for it less often.
    std::chrono::steady_clock::time_point rests_until = {};
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
