#include "model/http/tls_trust.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/system_context.hpp>
#include <boost/asio/system_executor.hpp>

#include <stategraph/error.hpp>

#include "model/http/http_client.hpp"

namespace stategraph::model::http {

namespace asio = boost::asio;

TlsTrust::TlsTrust(const std::string& ca_file) : context(asio::ssl::context::tls_client) {
    using asio::ssl::context_base;
    context.set_options(context_base::default_workarounds | context_base::no_sslv2 | context_base::no_sslv3 |
                        context_base::no_tlsv1 | context_base::no_tlsv1_1);
    context.set_verify_mode(asio::ssl::verify_peer);
    boost::system::error_code error;
    if (ca_file.empty()) {
        context.set_default_verify_paths(error);
    } else {
        context.load_verify_file(ca_file, error);
    }
    if (!error) return;
    const std::string file = ca_file.empty() ? "the system's certificates" : "the ca_file '" + ca_file + "'";
    throw InvalidArgumentError(file + " cannot be read as PEM certificates: " + error.message());
}

std::shared_ptr<TlsTrust> makeTrust(const std::string& ca_file) {
    auto trust = std::make_shared<TlsTrust>(ca_file);
    // OpenSSL is initialised at this point, and cleans up at the end of the process. Asio's own threads, which use it,
    // end before that.
    struct EndsThreads {
        ~EndsThreads() {
            auto& context = asio::query(asio::system_executor(), asio::execution::context);
            context.stop();
            context.join();
        }
    };
    static const EndsThreads at_exit;
    return trust;
}

std::string whyUntrusted(const SSL* connection) {
    const long reason = SSL_get_verify_result(connection);
    switch (reason) {
        case X509_V_ERR_UNSPECIFIED:  // OpenSSL found no fault, and Asio's comparison of the name did
            return "the certificate is for another name";
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            return std::string(X509_verify_cert_error_string(reason)) +
                   "; if the certificate is not signed by one of the system's authorities, set ca_file";
        default:
            return X509_verify_cert_error_string(reason);
    }
}

}  // namespace stategraph::model::http
