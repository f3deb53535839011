#include "model/http/http_client.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

#include <stategraph/error.hpp>

#include "model/http/curl_loop.hpp"

namespace stategraph::model::http {

namespace {

using Header = std::pair<std::string, std::string>;

bool isNameCharacter(char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool isValueCharacter(char c) { return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != '\x7f'); }

void check(const Header& header) {
    const auto& [name, value] = header;
    if (name.empty() || !std::all_of(name.begin(), name.end(), isNameCharacter)) {
        throw InvalidArgumentError("'" + name + "' cannot be the name of a header; use letters, digits and '-'");
    }
    if (!std::all_of(value.begin(), value.end(), isValueCharacter)) {
        throw InvalidArgumentError("the value of the header '" + name +
                                   "' has a control character, such as the end of a line; remove it");
    }
}

void check(const HttpOptions& options) {
    using std::chrono::milliseconds;
    const auto isTime = [](milliseconds time) {
        return time > milliseconds(0) && time <= std::chrono::hours(24 * 365);
    };
    if (!isTime(options.connect_limit) || !isTime(options.idle_limit) || !isTime(options.total_limit)) {
        throw InvalidArgumentError("connect_limit, idle_limit and total_limit must be more than 0 and at most a year");
    }
    if (options.max_retries < 0 || options.max_retries > 100)
        throw InvalidArgumentError("max_retries must be from 0 to 100");
    if (options.max_retry_wait < milliseconds(0)) throw InvalidArgumentError("max_retry_wait must not be negative");
    if (options.max_answer_bytes == 0) throw InvalidArgumentError("max_answer_bytes must be more than 0");
}

void checkCertificates(const std::string& file) {
    if (file.empty()) return;
    std::ifstream in(file);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (text.find("-----BEGIN CERTIFICATE-----") != std::string::npos ||
        text.find("-----BEGIN TRUSTED CERTIFICATE-----") != std::string::npos) {
        return;
    }
    throw InvalidArgumentError("the ca_file '" + file + "' cannot be read as PEM certificates: " +
                               (in.is_open() ? "it has none" : "it cannot be opened"));
}

}  // namespace

std::shared_ptr<const HttpClient> makeClient(const std::string& base_url, const std::string& path,
                                             const HttpOptions& options, std::vector<Header> headers,
                                             const std::string& secret) {
    check(options);
    headers.insert(headers.end(), options.headers.begin(), options.headers.end());
    for (const Header& header : headers) check(header);
    auto client = std::make_shared<HttpClient>();
    client->url = parseUrl(base_url);
    client->path = client->url.path + path;
    client->limits = options;
    client->headers = std::move(headers);
    client->speaker.endpoint = client->url.text() + path;
    client->speaker.secret = secret;
    if (client->url.is_tls) checkCertificates(options.ca_file);
    prepareCurl();
    return client;
}

}  // namespace stategraph::model::http
