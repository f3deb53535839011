// What a request that failed says.
#include <string>
#include <utility>

#include "model/http/transfer.hpp"

namespace stategraph::model::http {

namespace {

std::string inMilliseconds(std::chrono::milliseconds time) { return std::to_string(time.count()) + " ms"; }

/// Says why the server's certificate was refused, and what to do if a `ca_file` would help.
std::string whyUntrusted(CURL* easy, std::string_view said) {
    constexpr std::string_view problem = "SSL certificate problem: ";
    if (!said.starts_with(problem)) return "the certificate is for another name";
    std::string why(said.substr(problem.size()));
    long reason = 0;
    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &reason);
    // OpenSSL's numbers for a chain that ends at no authority that is trusted.
    const bool is_unknown = reason == 2 || (reason >= 18 && reason <= 21);
    if (is_unknown) why += "; if the certificate is not signed by one of the system's authorities, set ca_file";
    return why;
}

}  // namespace

std::string_view Transfer::step(bool is_reached) const {
    if (answer_.has_head) return "reading the answer";
    if (is_connected_) return sent_ < body_->size() ? "sending the request" : "awaiting the answer";
    return client_->url.is_tls && is_reached ? "securing the connection (TLS)" : "connecting";
}

ModelError Transfer::failure(CURLcode code) const {
    const std::string said = error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
    const HttpOptions& limits = client_->limits;
    ModelError::Details details{.status = 0, .is_retryable = true, .retry_after = {}};
    curl_off_t found = 0;
    curl_off_t reached = 0;
    curl_easy_getinfo(easy_, CURLINFO_NAMELOOKUP_TIME_T, &found);
    curl_easy_getinfo(easy_, CURLINFO_CONNECT_TIME_T, &reached);
    if (code == CURLE_COULDNT_RESOLVE_HOST || (code == CURLE_OPERATION_TIMEDOUT && found == 0)) {
        return client_->speaker.error(
            "has an address that cannot be found: " +
                (code == CURLE_OPERATION_TIMEDOUT ? "no answer within " + inMilliseconds(limits.connect_limit) : said),
            details);
    }
    std::string why = said;
    if (!answer_.broken_rule.empty()) {
        why = answer_.broken_rule;
        details.is_retryable = false;
    } else if (code == CURLE_OK || code == CURLE_PARTIAL_FILE) {
        why = "the connection ended in the middle of the answer";
    } else if (code == CURLE_GOT_NOTHING || code == CURLE_SEND_FAIL_REWIND) {
        why = "the connection ended before the answer";
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        why = "nothing happened for " + inMilliseconds(limits.connect_limit);
    } else if (code == CURLE_PEER_FAILED_VERIFICATION) {
        why = "certificate verify failed: " + whyUntrusted(easy_, said);
        details.is_retryable = false;
    } else if (code == CURLE_SSL_CONNECT_ERROR) {
        // A connection that ended during the handshake may stay open another time.
        details.is_retryable = said.find("SSL_ERROR_SYSCALL") != std::string::npos;
    } else if (code == CURLE_SSL_CACERT_BADFILE || code == CURLE_URL_MALFORMAT) {
        details.is_retryable = false;
    }
    return client_->speaker.error("failed while " + std::string(step(reached > 0)) + ": " + why, details);
}

ModelError Transfer::tooLate(std::chrono::milliseconds idle_limit) const {
    const bool is_over = Clock::now() >= deadline_;
    const std::string why =
        is_over ? "it took longer than the total limit of " + inMilliseconds(client_->limits.total_limit)
                : "nothing happened for " + inMilliseconds(idle_limit);
    const stategraph::detail::LockGuard lock(mutex_);
    return client_->speaker.error("failed while " + std::string(step(false)) + ": " + why,
                                  {.status = 0, .is_retryable = !is_over, .retry_after = {}});
}

}  // namespace stategraph::model::http
