#pragma once
#include <cstddef>
#include <string>
#include <vector>

// What one client may ask of a server.
namespace stategraph::serve {

/// How often something may happen: a store of pieces from which each event takes one, and which fills with time.
struct Rate {
    /// How many pieces a second come back; 0: there is no limit.
    double per_second = 0;
    /// How many pieces the store holds, so that this many may be taken at once. 0: as many as a second brings, and at
    /// least 1.
    double burst = 0;
};

/// The limits for each client. A client is the identity that the hook names (ServerOptions::authorize), whatever its
/// address; a request of nobody counts for the address, of which the first 64 bits count for IPv6. What is beyond a
/// limit is refused with 429 and `Retry-After`. `/health`, `/ready` and `/metrics` cost nothing.
struct ClientLimits {
    /// Requests. An address whose own requests are used up is refused before the hook is called, so that nobody can
    /// try many keys; requests that the hook names an identity for do not count for the address.
    Rate requests = {};
    /// Runs: `start`, `resume`, `decide` and chats.
    Rate runs = {};
    /// Bytes that are stored because a client sent them: the bodies of requests for runs. A body is taken as long as
    /// anything is left, and what it takes beyond that is owed.
    Rate stored_bytes = {};
    /// Connections of an address, except those of `proxies`; 0: no limit but the server's.
    std::size_t connections_max = 0;
    /// Responses that send events at the same time; 0: no limit.
    std::size_t streams_max = 0;
    /// How many clients are remembered, in some 100 bytes each, until their stores are full again. Nobody is forgotten
    /// before that: further clients share stores with others of their neighbourhood. At least 1.
    std::size_t clients_max = 65'536;
    /// The addresses of proxies, or their networks such as "10.0.0.0/8". A client is who their `X-Forwarded-For` or
    /// `Forwarded` names: the last address that is not a proxy's. Of others these fields are ignored. Errors of the
    /// server: as ServerOptions::headers.
    std::vector<std::string> proxies = {};
};

}  // namespace stategraph::serve
