#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// A server in the test's own process that does what a script says, byte by byte: for what well-behaved servers never
/// do. Each connection has a thread of its own, on which the script runs. The destructor closes all connections and
/// waits for their scripts.
class ScriptedServer {
public:
    /// One connection, while its script runs.
    class Peer {
    public:
        virtual ~Peer() = default;
        /// Reads a request to its end, with a body of the Content-Length. Empty: the client went before.
        virtual std::string request() = 0;
        /// What the client does not take any more is lost.
        virtual void send(std::string_view bytes) = 0;
        /// Ends the connection with RST in place of FIN.
        virtual void reset() = 0;
        /// Waits until the client closes the connection. False: it did not within the time.
        virtual bool waitForEnd(std::chrono::milliseconds time) = 0;
        /// From 0, in the order in which connections came.
        std::size_t number = 0;
    };
    using Script = std::function<void(Peer& peer)>;

    /// Listens on a free port of 127.0.0.1. With a certificate and its key, both PEM, it speaks TLS.
    explicit ScriptedServer(Script script, std::string certificate = {}, std::string key = {});
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;
    ~ScriptedServer();

    /// "http://127.0.0.1:PORT", or https.
    std::string url() const;
    unsigned short port() const;
    std::size_t connections() const;
    /// Those whose scripts have not ended.
    std::size_t openConnections() const;
    /// All that were read with Peer::request, in the order of their ends.
    std::vector<std::string> requests() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};
