#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace stategraph::model {

/// How a model behind an HTTP server is reached. All limits apply to one `ask`.
struct HttpOptions {
    /// For finding the address, connecting and the TLS handshake, of each attempt.
    std::chrono::milliseconds connect_limit = std::chrono::seconds(15);
    /// The longest time without a single byte, while the request is sent and while its answer is awaited or read.
    /// Servers that keep the line alive with comments are bounded by `total_limit` alone.
    std::chrono::milliseconds idle_limit = std::chrono::seconds(120);
    /// For everything, further attempts and the waits between them included.
    std::chrono::milliseconds total_limit = std::chrono::minutes(15);
    /// How often a request is sent again after an error that may pass (ModelError::isRetryable). Nothing is sent again
    /// once a delta was reported.
    int max_retries = 2;
    /// The longest wait before a request is sent again. A provider that asks for more (retry-after) is not waited for.
    std::chrono::milliseconds max_retry_wait = std::chrono::seconds(60);
    /// A PEM file of the certificates to trust, in place of the system's.
    std::string ca_file = {};
    /// Sent with each request, after the library's own headers. A name of the library's replaces that one.
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// The largest body of an answer, after transfer decoding. A longer one is an error.
    std::size_t max_answer_bytes = std::size_t{64} << 20U;
};

}  // namespace stategraph::model
