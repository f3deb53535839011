#pragma once
#include <string>

#include <boost/asio/ssl/context.hpp>

namespace stategraph::model::http {

/// The certificates that a client trusts, and the versions of TLS that it speaks. Many connections share it.
class TlsTrust {
public:
    /// An empty `ca_file` means the system's certificates. Errors: InvalidArgumentError for a file that cannot be read.
    explicit TlsTrust(const std::string& ca_file);
    boost::asio::ssl::context context;
};

/// Says why the server's certificate was refused, and what to do if a `ca_file` would help. `connection` is one whose
/// handshake failed at the certificate.
std::string whyUntrusted(const SSL* connection);

}  // namespace stategraph::model::http
