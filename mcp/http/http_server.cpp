#include <stategraph/mcp/http.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

#include "mcp/http/http_session.hpp"

namespace stategraph::mcp {

namespace detail {

namespace {

class HttpWire final : public Wire {
public:
    explicit HttpWire(std::shared_ptr<HttpSession> session) : session_(std::move(session)) {}
    HttpWire(const HttpWire&) = delete;
    HttpWire& operator=(const HttpWire&) = delete;
    ~HttpWire() override { close(); }

    bool send(std::string text, std::int64_t request) override { return session_->send(std::move(text), request); }
    void abandon(std::int64_t request) noexcept override { session_->abandon(request); }
    void setVersion(const std::string& version) override { session_->setVersion(version); }
    void end() noexcept override { session_->end(); }
    void close() noexcept override {
        session_->end();
        session_->disconnect();
        session_->awaitEnd();
    }
    bool isOver() const noexcept override { return session_->isOver(); }

private:
    std::shared_ptr<HttpSession> session_;
};

class HttpConnector final : public Connector {
public:
    HttpConnector(std::shared_ptr<const model::http::HttpClient> client, std::chrono::milliseconds end_wait,
                  std::vector<std::string> secrets)
        : client_(std::move(client)), end_wait_(end_wait), secrets_(std::move(secrets)) {}
    std::vector<std::string> secrets() const override { return secrets_; }
    std::unique_ptr<Wire> connect(WireSink& sink, const WireLimits& limits) const override {
        auto client = std::make_shared<model::http::HttpClient>(*client_);
        client->limits.connect_limit = limits.connect_timeout;
        return std::make_unique<HttpWire>(std::make_shared<HttpSession>(std::move(client), end_wait_, sink, limits));
    }

private:
    std::shared_ptr<const model::http::HttpClient> client_;
    std::chrono::milliseconds end_wait_;
    std::vector<std::string> secrets_;
};

bool isAuthorization(std::string_view name) {
    constexpr std::string_view wanted = "authorization";
    return std::equal(name.begin(), name.end(), wanted.begin(), wanted.end(), [](char c, char lower) {
        return c == lower || (c >= 'A' && c <= 'Z' && c - 'A' + 'a' == lower);
    });
}

/// The value of Authorization without its scheme, which errors must not show.
std::string secretOf(const HttpOptions& options) {
    for (const auto& [name, value] : options.headers) {
        if (isAuthorization(name)) return value.substr(value.find_last_of(' ') + 1);
    }
    return {};
}

/// The values of all headers, and what follows a scheme in them. Shorter ones could be any word.
std::vector<std::string> secretsOf(const HttpOptions& options) {
    constexpr std::size_t bytes_min = 6;
    std::vector<std::string> secrets;
    const auto add = [&](std::string_view text) {
        while (text.ends_with(' ')) text.remove_suffix(1);
        while (text.starts_with(' ')) text.remove_prefix(1);
        if (text.size() >= bytes_min) secrets.emplace_back(text);
    };
    for (const auto& [name, value] : options.headers) {
        add(value);
        if (const std::size_t scheme = value.find(' '); scheme != std::string::npos) add(value.substr(scheme));
    }
    std::ranges::sort(secrets, std::greater<>(), &std::string::size);
    return secrets;
}

}  // namespace

}  // namespace detail

Transport http(HttpOptions options) {
    if (options.end_wait < std::chrono::milliseconds(1) || options.end_wait > std::chrono::hours(1))
        throw InvalidArgumentError("HttpOptions::end_wait must be from 1 ms to one hour");
    model::HttpOptions limits;
    limits.idle_limit = std::chrono::hours(24 * 365);  // a call has a limit of its own
    limits.total_limit = limits.idle_limit;
    limits.ca_file = options.ca_file;
    limits.headers = options.headers;
    auto client = std::make_shared<model::http::HttpClient>(*model::http::makeClient(
        options.url, "", limits, {{"Accept", "application/json, text/event-stream"}}, detail::secretOf(options)));
    if (client->path.empty()) client->path = "/";
    client->speaker.called = "the server";
    client->kept_header = "mcp-session-id";
    return Transport(
        std::make_shared<detail::HttpConnector>(std::move(client), options.end_wait, detail::secretsOf(options)));
}

}  // namespace stategraph::mcp
