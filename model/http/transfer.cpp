#include "model/http/transfer.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>
#include <utility>

#include <sys/socket.h>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include "model/http/curl_loop.hpp"
#include "model/http/delivered.hpp"

namespace stategraph::model::http {

namespace {

namespace asio = boost::asio;
using stategraph::detail::LockGuard;

constexpr std::size_t piece_size = 16384;
/// The loop holds back what would be more of the body than this before it was taken.
constexpr std::size_t most_ahead = 65536;
/// Of all heads and the trailer of one answer together.
constexpr std::size_t max_head_bytes = 65536;
constexpr std::size_t most_discarded = 65536;

bool isSame(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// The fields of a request as libcurl takes them. A later one replaces an earlier one of its name.
curl_slist* fieldsOf(const HttpClient& client) {
    std::vector<std::pair<std::string, std::string>> fields = {
        {"User-Agent", "stategraph"}, {"Content-Type", "application/json"}, {"Accept", "text/event-stream"}};
    for (const auto& field : client.headers) {
        std::erase_if(fields, [&](const auto& earlier) { return isSame(earlier.first, field.first); });
        fields.push_back(field);
    }
    fields.emplace_back("Expect", "");  // libcurl would wait for a 100 before it sends a long body
    curl_slist* list = nullptr;
    for (const auto& [name, value] : fields) {
        const bool is_empty = trimmed(value).empty() && name != "Expect";
        curl_slist* const longer = curl_slist_append(list, (name + (is_empty ? ";" : ": " + value)).c_str());
        if (longer == nullptr) {
            curl_slist_free_all(list);
            throw std::bad_alloc();
        }
        list = longer;
    }
    return list;
}

}  // namespace

// ------------------------------------------------------------------------------------------------ the coroutine's part

void Transfer::start(const asio::any_io_executor& executor, std::shared_ptr<const std::string> body) {
    CurlLoop& loop = CurlLoop::of(executor);
    body_ = std::move(body);
    asio::post(loop.strand(), [&loop, self = shared_from_this()] { loop.start(self); });
}

// While the lock is held and there is a loop, its context cannot be destroyed: CurlLoop::close comes first.
void Transfer::post(void (CurlLoop::*function)(const std::shared_ptr<Transfer>&)) {
    if (loop_ == nullptr) return;
    asio::post(loop_->strand(), [loop = loop_, function, self = shared_from_this()] { (loop->*function)(self); });
}

void Transfer::checkFailure() const {
    if (answer_.failure) std::rethrow_exception(answer_.failure);
    if (answer_.is_over && !answer_.is_complete) throw boost::system::system_error(asio::error::operation_aborted);
}

std::optional<HttpHead> Transfer::takeHead() {
    const LockGuard lock(mutex_);
    if (answer_.has_head) return std::move(answer_.head);
    checkFailure();
    return {};
}

std::optional<std::string> Transfer::takePiece() {
    const LockGuard lock(mutex_);
    if (answer_.taken < answer_.arrived.size()) {
        std::string piece = answer_.arrived.substr(answer_.taken, piece_size);
        answer_.taken += piece.size();
        if (answer_.taken == answer_.arrived.size()) {
            answer_.arrived.clear();
            answer_.taken = 0;
        }
        return piece;
    }
    checkFailure();
    if (answer_.is_complete) return std::string();
    if (std::exchange(wishes_.is_held, false)) post(&CurlLoop::resume);
    return {};
}

void Transfer::setWaiter(Waiter waiter) {
    const LockGuard lock(mutex_);
    waiter_ = std::move(waiter);
}

void Transfer::wake() {
    if (!waiter_) return;
    asio::post(waiter_->get_executor(), [waiter = waiter_] { waiter->cancel(); });
}

Transfer::Clock::time_point Transfer::limit(Clock::time_point begin, std::chrono::milliseconds idle_limit) const {
    const LockGuard lock(mutex_);
    // Until it is connected, libcurl keeps the time.
    const Clock::time_point active = is_connected_ ? Clock::time_point(Clock::duration(active_.load())) : Clock::now();
    return std::min(std::max(begin, active) + idle_limit, deadline_);
}

void Transfer::abandon() noexcept {
    try {
        const LockGuard lock(mutex_);
        wishes_.is_abandoned = true;
        post(&CurlLoop::end);
    } catch (...) {
        // No memory is left to end it; its own limits, or its context, do.
    }
}

void Transfer::leave() noexcept {
    try {
        const LockGuard lock(mutex_);
        wishes_.is_left = true;
        wishes_.is_held = false;
        post(&CurlLoop::leave);
    } catch (...) {
        abandon();
    }
}

// ----------------------------------------------------------------------------------------------------- the loop's part

void Transfer::detach() noexcept {
    const LockGuard lock(mutex_);
    loop_ = nullptr;
}

CURL* Transfer::prepare(CurlLoop& loop, CURLSH* share) {
    const LockGuard lock(mutex_);
    if (wishes_.is_abandoned) return nullptr;
    easy_ = curl_easy_init();
    if (easy_ == nullptr) return nullptr;
    loop_ = &loop;
    try {
        headers_ = fieldsOf(*client_);
        setOptions(share);
        return easy_;
    } catch (...) {
        return nullptr;
    }
}

void Transfer::setOptions(CURLSH* share) {
    const HttpClient& client = *client_;
    const std::string url = (client.url.is_tls ? "https://" : "http://") + client.url.hostHeader() + client.path;
    const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
    set(CURLOPT_PRIVATE, this);
    set(CURLOPT_SHARE, share);
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_ACCEPT_ENCODING, "gzip");
    set(CURLOPT_HTTPHEADER, headers_);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);  // a search for an address that hangs is not awaited
    set(CURLOPT_ERRORBUFFER, error_.data());
    set(CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>(std::min<std::chrono::milliseconds::rep>(client.limits.connect_limit.count(), INT_MAX)));
    if (!client.limits.ca_file.empty()) set(CURLOPT_CAINFO, client.limits.ca_file.c_str());
    // With one file alone, libcurl reads the certificates once, and not for each connection.
    const curl_version_info_data* const version = curl_version_info(CURLVERSION_NOW);
    if (!client.limits.ca_file.empty() || version->cainfo != nullptr)
        set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));

    if (client.method == "POST") {
        set(CURLOPT_POST, 1L);
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_->size()));
    } else {
        set(CURLOPT_CUSTOMREQUEST, client.method.c_str());
    }
    set(CURLOPT_READFUNCTION, onSend);
    set(CURLOPT_READDATA, static_cast<void*>(this));
    set(CURLOPT_SEEKFUNCTION, onRepeat);
    set(CURLOPT_SEEKDATA, static_cast<void*>(this));
    set(CURLOPT_HEADERFUNCTION, onHead);
    set(CURLOPT_HEADERDATA, static_cast<void*>(this));
    set(CURLOPT_WRITEFUNCTION, onBody);
    set(CURLOPT_WRITEDATA, static_cast<void*>(this));
    set(CURLOPT_PREREQFUNCTION, onConnected);
    set(CURLOPT_PREREQDATA, static_cast<void*>(this));
    set(CURLOPT_OPENSOCKETFUNCTION, onOpen);
    set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
    if (client.may_connect) {
        set(CURLOPT_PROXY, "");
        set(CURLOPT_FRESH_CONNECT, 1L);
        set(CURLOPT_FORBID_REUSE, 1L);
    }
    set(CURLOPT_CLOSESOCKETFUNCTION, CurlLoop::onClose);
    set(CURLOPT_CLOSESOCKETDATA, static_cast<void*>(loop_));
}

curl_socket_t Transfer::onOpen(void* self, curlsocktype, struct curl_sockaddr* address) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (const auto& may_connect = transfer.client_->may_connect; may_connect && !may_connect(address->addr)) {
        const LockGuard lock(transfer.mutex_);
        transfer.answer_.broken_rule = "the server has an address that is not allowed";
        return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int Transfer::onConnected(void* self, char*, char*, int, int) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.touch();
    const LockGuard lock(transfer.mutex_);
    transfer.is_connected_ = true;
    return CURL_PREREQFUNC_OK;
}

std::size_t Transfer::onSend(char* out, std::size_t, std::size_t room, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.touch();
    const LockGuard lock(transfer.mutex_);
    const std::size_t size = std::min(room, transfer.body_->size() - transfer.sent_);
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, and no text
    std::memcpy(out, transfer.body_->data() + transfer.sent_, size);
    transfer.sent_ += size;
    return size;
}

std::size_t Transfer::onHead(char* line, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.touch();
    try {
        const LockGuard lock(transfer.mutex_);
        transfer.head_bytes_ += size;
        if (transfer.head_bytes_ > max_head_bytes) {
            transfer.answer_.broken_rule = "its heads have more than 65536 bytes";
            return 0;
        }
        transfer.takeLine(std::string_view(line, size));
        return size;
    } catch (...) {
        return 0;
    }
}

void Transfer::takeLine(std::string_view line) {
    if (answer_.has_head) return;  // it belongs to the trailer
    const std::string_view text = trimmed(line);
    if (line.starts_with("HTTP/")) {
        answer_.head = {};
    } else if (text.empty()) {
        long status = 0;
        curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
        if (status / 100 == 1) return;  // the head of the answer follows
        answer_.head.status = static_cast<int>(status);
        answer_.has_head = true;
        wake();
    } else {
        const std::size_t colon = std::min(text.find(':'), text.size());
        const auto keep = [&](std::string_view name, std::string& value) {
            if (!name.empty() && value.empty() && isSame(text.substr(0, colon), name))
                value = trimmed(text.substr(std::min(colon + 1, text.size())));
        };
        keep("retry-after", answer_.head.retry_after);
        keep("retry-after-ms", answer_.head.retry_after_ms);
        keep("x-should-retry", answer_.head.should_retry);
        keep("location", answer_.head.location);
        keep("content-type", answer_.head.content_type);
        keep(client_->kept_header, answer_.head.kept);
    }
}

std::size_t Transfer::onBody(char* bytes, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.touch();
    try {
        const LockGuard lock(transfer.mutex_);
        if (transfer.wishes_.is_left) {
            transfer.discarded_ += size;
            return transfer.discarded_ > most_discarded ? 0 : size;
        }
        if (transfer.answer_.arrived.size() - transfer.answer_.taken >= most_ahead) {
            transfer.wishes_.is_held = true;
            return CURL_WRITEFUNC_PAUSE;
        }
        transfer.answer_.arrived.erase(0, std::exchange(transfer.answer_.taken, 0));
        transfer.answer_.arrived.append(bytes, size);
        transfer.wake();
        return size;
    } catch (...) {
        return 0;
    }
}

void Transfer::resume() { curl_easy_pause(easy_, CURLPAUSE_CONT); }

void Transfer::closing(curl_socket_t socket) noexcept {
    if (socket == socket_ && !is_delivered_) is_delivered_ = isDelivered(socket);
}

// libcurl would repeat each request whose kept connection ended before any byte of the answer, on a new one that it has
// opened then: it asks here.
int Transfer::onRepeat(void* self, curl_off_t, int) {
    auto& transfer = *static_cast<Transfer*>(self);
    const LockGuard lock(transfer.mutex_);
    // Over TLS the connection's own last record counts as bytes that have not arrived, so that it says nothing.
    const bool has_arrived = transfer.client_->url.is_tls || transfer.is_delivered_.value_or(true);
    if (transfer.sent_ == transfer.body_->size() && has_arrived) return CURL_SEEKFUNC_FAIL;
    return transfer.isFirstRepeat() ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

// libcurl does not ask when it could not write all of the request to a kept connection.
bool Transfer::isRepeated(CURLcode code) {
    const LockGuard lock(mutex_);
    long connects = 0;
    curl_easy_getinfo(easy_, CURLINFO_NUM_CONNECTS, &connects);
    if (code != CURLE_SEND_ERROR || connects > 0 || !isFirstRepeat()) return false;
    is_connected_ = false;
    curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
    return true;
}

bool Transfer::isFirstRepeat() {
    if (head_bytes_ > 0 || std::exchange(was_repeated_, true)) return false;
    sent_ = 0;
    return true;
}

void Transfer::ended(CURLcode code) {
    const LockGuard lock(mutex_);
    answer_.is_complete = code == CURLE_OK && answer_.has_head;
    if (!answer_.is_complete) answer_.failure = std::make_exception_ptr(failure(code));
}

void Transfer::close() noexcept {
    const LockGuard lock(mutex_);
    answer_.is_over = true;
    loop_ = nullptr;
    if (easy_ != nullptr) curl_easy_cleanup(std::exchange(easy_, nullptr));
    curl_slist_free_all(std::exchange(headers_, nullptr));
    try {
        wake();
    } catch (...) {
        // Without memory, the waiting coroutine sees it at its limit.
    }
    waiter_.reset();
}

}  // namespace stategraph::model::http
