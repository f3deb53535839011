#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/langgraph/webhooks.hpp>
#include <stategraph/model/model.hpp>

#include "langgraph/webhooks/ip_address.hpp"
#include "langgraph/webhooks/signature.hpp"
#include "model/http/http_client.hpp"
#include "model/http/http_stream.hpp"
#include "model/http/stopping.hpp"
#include "model/http/url.hpp"

namespace stategraph::langgraph {

namespace {

namespace http = model::http;

constexpr std::size_t url_bytes_max = 2048;
constexpr std::size_t key_bytes_min = 16;

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

/// An address as it was asked for: the server, and what follows, as it is.
struct WebhookUrl {
    http::Url server = {};
    std::string base;
    std::string rest;
};

WebhookUrl readUrl(const std::string& text) {
    if (text.size() > url_bytes_max) throw InvalidArgumentError("the address of the webhook has more than 2048 bytes");
    const bool is_whole = text.starts_with("http://") || text.starts_with("https://");
    if (!is_whole) throw InvalidArgumentError("the address of the webhook must begin with https:// or http://");
    const std::size_t path = std::min(text.find_first_of("/?#", text.find("//") + 2), text.size());
    WebhookUrl url{.base = text.substr(0, path), .rest = text.substr(path)};
    const auto isPart = [](char c) { return c > ' ' && c < '\x7f'; };
    if (!std::ranges::all_of(url.rest, isPart) || url.rest.find('#') != std::string::npos)
        throw InvalidArgumentError("the address of the webhook has a character that addresses cannot have");
    try {
        url.server = http::parseUrl(url.base);
    } catch (const InvalidArgumentError&) {
        throw InvalidArgumentError("the address of the webhook has no host that can be called");
    }
    if (!url.rest.starts_with('/')) url.rest.insert(0, "/");
    return url;
}

/// Which servers may be called.
class AllowedHosts {
public:
    explicit AllowedHosts(const std::vector<std::string>& hosts) {
        for (const std::string& each : hosts) {
            if (const auto address = ipAddressOf(each)) {
                addresses_.push_back(*address);
            } else {
                names_.push_back(lower(each));
            }
        }
    }
    /// Whether a client may name it.
    bool hasHost(const std::string& host) const {
        if (const auto address = ipAddressOf(host)) return hasAddress(*address);
        std::string name = lower(host);
        if (name.ends_with('.')) name.pop_back();
        return std::ranges::any_of(names_, [&](const std::string& each) {
            return each == "*" || each == name || (each.starts_with("*.") && name.ends_with(each.substr(1)));
        });
    }
    bool hasAddress(const IpAddress& address) const {
        return std::ranges::find(addresses_, address) != addresses_.end();
    }
    /// Whether a connection may be made to it, wherever its address comes from.
    bool mayConnect(const sockaddr& to) const {
        const auto address = ipAddressOf(to);
        return address && (isPublic(*address) || hasAddress(*address));
    }

private:
    std::vector<std::string> names_;
    std::vector<IpAddress> addresses_;
};

class HttpWebhooks final : public WebhookSender {
public:
    explicit HttpWebhooks(WebhookOptions options)
        : options_(std::move(options)), allowed_(std::make_shared<AllowedHosts>(options_.hosts)) {
        if (options_.hosts.empty())
            throw InvalidArgumentError("WebhookOptions::hosts is empty; name who may be called");
        if (options_.key.size() < key_bytes_min)
            throw InvalidArgumentError("WebhookOptions::key has fewer than 16 bytes; give a longer one");
        (void)clientOf("http://localhost", "/", {});  // checks the limit and the file
    }

    void check(const std::string& url) const override {
        const WebhookUrl read = readUrl(url);
        if (!allowed_->hasHost(read.server.host))
            throw InvalidArgumentError("the host '" + read.server.host + "' is not one that this server calls");
    }

    Task<int> send(Webhook call) override {
        check(call.url);  // the options may be others than when it was asked for
        const WebhookUrl url = readUrl(call.url);
        const auto client = clientOf(url.base, url.rest, headersOf(call));
        const model::Asking asking;
        http::Stopping stopping(asking);
        http::HttpStream stream(client, stopping, std::chrono::steady_clock::now() + options_.limit);
        Task<http::HttpHead> opened = stream.open(std::make_shared<const std::string>(std::move(call.body)));
        const http::HttpHead head = co_await std::move(opened);
        stream.leave();
        co_return head.status;
    }

private:
    std::vector<std::pair<std::string, std::string>> headersOf(const Webhook& call) const {
        const auto time = options_.now ? options_.now() : std::chrono::system_clock::now();
        const std::int64_t timestamp = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
        return {{"Accept", "*/*"},
                {"webhook-id", call.id},
                {"webhook-timestamp", std::to_string(timestamp)},
                {"webhook-signature", webhookSignature(options_.key, call.id, timestamp, call.body)}};
    }
    std::shared_ptr<const http::HttpClient> clientOf(const std::string& base, const std::string& rest,
                                                     std::vector<std::pair<std::string, std::string>> headers) const {
        model::HttpOptions limits{.connect_limit = options_.limit,
                                  .idle_limit = options_.limit,
                                  .total_limit = options_.limit,
                                  .max_retries = 0,
                                  .ca_file = options_.ca_file};
        http::HttpClient client = *http::makeClient(base, rest, limits, std::move(headers), options_.key);
        client.speaker.called = "the webhook";
        client.may_connect = [allowed = allowed_](const sockaddr& address) { return allowed->mayConnect(address); };
        return std::make_shared<const http::HttpClient>(std::move(client));
    }

    const WebhookOptions options_;
    const std::shared_ptr<const AllowedHosts> allowed_;
};

}  // namespace

std::shared_ptr<WebhookSender> httpWebhooks(WebhookOptions options) {
    return std::make_shared<HttpWebhooks>(std::move(options));
}

}  // namespace stategraph::langgraph
