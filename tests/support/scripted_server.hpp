#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// A server in the test's own process that follows a script byte by byte, for behaviour that ordinary servers never
/// show. Each connection has its own thread, on which the script runs. The destructor closes all connections and waits
/// for their scripts.
class ScriptedServer {
public:
    /// One connection, while its script runs.
    class Peer {
    public:
        virtual ~Peer() = default;
        /// Reads one request, with a body as long as its Content-Length. Empty if the client closed the connection
        /// before.
        virtual std::string request() = 0;
        /// Sends bytes; those that the client no longer accepts are lost.
        virtual void send(std::string_view bytes) = 0;
        /// Passes bytes in both directions between the client and this port of 127.0.0.1, until one side ends.
        virtual void tunnel(unsigned short port) = 0;
        /// Waits until the client has sent something, which is not read.
        virtual void waitForBytes() = 0;
        /// Ends the connection with RST in place of FIN.
        virtual void reset() = 0;
        /// Waits until the client closes the connection. Returns false if it did not do so in time.
        virtual bool waitForEnd(std::chrono::milliseconds time) = 0;
        /// The number of the connection in the order of arrival, from 0.
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
    /// TLS handshakes that did not continue a session of an earlier connection.
    std::size_t fullHandshakes() const;
    /// The connections whose scripts have not ended.
    std::size_t openConnections() const;
    /// All requests that Peer::request has read, in the order in which they ended.
    std::vector<std::string> requests() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};
