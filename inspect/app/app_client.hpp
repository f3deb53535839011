#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "inspect/app/app_address.hpp"

namespace stategraph::inspect {

/// The limits of requests to a program.
struct AppLimits {
    std::chrono::milliseconds connect_limit = std::chrono::seconds(5);
    /// How long nothing may be sent or received while a request is under way.
    std::chrono::milliseconds idle_limit = std::chrono::seconds(120);
    std::size_t answer_bytes_max = (std::size_t{256} << 20U) + 1024;
};

/// An answer: its status, and its body.
struct AppAnswer {
    unsigned status = 0;
    std::string body;
    /// Whether the body is CBOR, and not a text.
    bool is_message = false;
};

/// Sends requests to the inspector of a running program, over HTTP/1.1 on this machine. Safe from any thread: each
/// request under way has a connection of its own, and at most four are kept for later ones.
class AppClient {
public:
    explicit AppClient(AppAddress address, AppLimits limits = {});
    ~AppClient();
    AppClient(const AppClient&) = delete;
    AppClient& operator=(const AppClient&) = delete;

    const AppAddress& address() const noexcept { return address_; }
    AppAnswer get(const std::string& path);
    /// `stores`: the program stores something. Such a request is sent once; another one is repeated if a connection
    /// that was kept has been closed meanwhile. Errors of both: SaverError for a program that cannot be reached, does
    /// not answer in time, or whose answer is cut, too large or not HTTP.
    AppAnswer post(const std::string& path, std::string_view content_type, std::string_view body, bool stores);

private:
    class Connection;
    struct Kept;
    struct Asked;
    AppAnswer ask(const Asked& asked);

    const AppAddress address_;
    const AppLimits limits_;
    std::unique_ptr<Kept> kept_;
};

}  // namespace stategraph::inspect
