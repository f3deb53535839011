#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include <stategraph/model/http_options.hpp>

#include "model/http/provider_error.hpp"
#include "model/http/url.hpp"

namespace stategraph::model::http {

/// A server, and how it is reached. It is the same for all requests to the server, and several threads read it.
struct HttpClient {
    Url url;
    /// The path of the request, after the URL's own path.
    std::string path;
    HttpOptions limits;
    std::vector<std::pair<std::string, std::string>> headers;
    Speaker speaker;
    std::string method = "POST";
    /// The name of a header of answers that HttpHead::kept gets; empty: none.
    std::string kept_header = {};
    /// Decides about each address of the server before a connection is made to it; null: every one is allowed. With it
    /// each request has a connection of its own, and no proxy is used, so that the address that was asked about is the
    /// one that gets the request. Called on the threads of connections.
    std::function<bool(const sockaddr& address)> may_connect = {};
    /// Whether a request that is refused with this status may be sent again; null: what providers of models mean by it.
    bool (*is_temporary)(int status) = nullptr;
};

/// What is known of an answer before its body.
struct HttpHead : RefusalHead {
    std::string content_type = {};
    std::string kept = {};
};

/// Throws InvalidArgumentError for limits that are not positive, for a header that cannot be sent (the message does not
/// show its value), and for a ca_file that cannot be read. `headers` are the library's own; one of them contains
/// `secret`.
std::shared_ptr<const HttpClient> makeClient(const std::string& base_url, const std::string& path,
                                             const HttpOptions& options,
                                             std::vector<std::pair<std::string, std::string>> headers,
                                             const std::string& secret);

}  // namespace stategraph::model::http
