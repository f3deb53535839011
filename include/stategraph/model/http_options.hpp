#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace stategraph::model {

/// How a model behind an HTTP server is reached. All limits apply to one `ask`.
struct HttpOptions {
    /// The limit for finding the address, connecting and the TLS handshake, for each attempt.
    std::chrono::milliseconds connect_limit = std::chrono::seconds(15);
    /// The longest time without a single byte, while the request is sent and while its answer is awaited or read. For
    /// servers that keep the connection alive with comments, only `total_limit` applies.
    std::chrono::milliseconds idle_limit = std::chrono::seconds(120);
    /// The limit for everything, including further attempts and the waits between them.
    std::chrono::milliseconds total_limit = std::chrono::minutes(15);
    /// How often a request is sent again after a temporary error (ModelError::isRetryable). Nothing is sent again once
    /// a delta was reported.
    int max_retries = 2;
    /// The longest wait before a request is sent again. If a provider asks for a longer one (retry-after), the request
    /// fails.
    std::chrono::milliseconds max_retry_wait = std::chrono::seconds(60);
    /// A PEM file of the certificates to trust, instead of the system's.
    std::string ca_file = {};
    /// Header fields that are sent with each request, after the library's own. If a field has the name of a field
    /// of the library, it replaces that.
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// The largest body of an answer, after transfer decoding. A longer one is an error.
    std::size_t max_answer_bytes = std::size_t{64} << 20U;
};

}  // namespace stategraph::model
