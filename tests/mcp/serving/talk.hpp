#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include <boost/json.hpp>

#include <stategraph/mcp/server.hpp>

// A client of serveStdio that shares no code with it.
namespace mcp_serving {

namespace json = boost::json;

class Talk {
public:
    explicit Talk(stategraph::mcp::Server server, stategraph::mcp::StdioOptions options = {}) {
        int ends[2] = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::runtime_error("no socketpair");
        mine_ = ends[0];
        options.in = options.out = ends[1];
        thread_ = std::thread([server = std::move(server), options, theirs = ends[1]] {
            stategraph::mcp::serveStdio(server, options);
            ::close(theirs);
        });
    }
    Talk(const Talk&) = delete;
    Talk& operator=(const Talk&) = delete;
    ~Talk() {
        leave();
        thread_.join();
        ::close(mine_);
    }

    /// Says that no more messages come.
    void leave() { (void)::shutdown(mine_, SHUT_WR); }
    void write(std::string_view text) {
        while (!text.empty()) {
            const ssize_t size = ::send(mine_, text.data(), text.size(), MSG_NOSIGNAL);
            if (size <= 0) throw std::runtime_error("the server has closed its end");
            text.remove_prefix(static_cast<std::size_t>(size));
        }
    }
    void send(const json::object& message) { write(json::serialize(message) + "\n"); }
    /// The next message; null at the end.
    json::value next() {
        for (;;) {
            if (const auto end = read_.find('\n'); end != std::string::npos) {
                json::value message = json::parse(std::string_view(read_).substr(0, end));
                read_.erase(0, end + 1);
                return message;
            }
            char piece[4096];
            const ssize_t size = ::recv(mine_, piece, sizeof piece, 0);
            if (size <= 0) return nullptr;
            read_.append(piece, static_cast<std::size_t>(size));
        }
    }

    void request(std::int64_t id, std::string_view method, json::object params = {}) {
        send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}});
    }
    void notify(std::string_view method, json::object params = {}) {
        send({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
    }
    /// The answer to a request that nothing else comes before.
    json::object ask(std::int64_t id, std::string_view method, json::object params = {}) {
        request(id, method, std::move(params));
        return next().as_object();
    }
    json::object initialize(std::string_view version = "2025-11-25", json::object capabilities = {}) {
        json::object answer = ask(0, "initialize",
                                  {{"protocolVersion", version},
                                   {"capabilities", std::move(capabilities)},
                                   {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
        notify("notifications/initialized");
        return answer.at("result").as_object();
    }
    /// The result of a call that nothing else comes before.
    json::object call(std::int64_t id, std::string_view tool, json::object arguments = {}) {
        return ask(id, "tools/call", {{"name", tool}, {"arguments", std::move(arguments)}}).at("result").as_object();
    }

private:
    int mine_ = -1;
    std::string read_;
    std::thread thread_;
};

/// The text of a result.
inline std::string textOf(const json::object& result) {
    return json::value_to<std::string>(result.at("content").at(0).at("text"));
}
inline bool isError(const json::object& result) { return result.contains("isError") && result.at("isError").as_bool(); }
/// The thread that a result names.
inline std::string threadOf(const json::object& result) {
    return json::value_to<std::string>(result.at("_meta").at("stategraph/thread_id"));
}
/// What a request of the version without sessions says of itself.
inline json::object modernMeta(json::object capabilities = {}) {
    return {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
            {"io.modelcontextprotocol/clientInfo", {{"name", "test"}, {"version", "1"}}},
            {"io.modelcontextprotocol/clientCapabilities", std::move(capabilities)}};
}

}  // namespace mcp_serving
