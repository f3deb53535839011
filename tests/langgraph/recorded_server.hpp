#pragma once
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>

#include <boost/json.hpp>

#include "tests/langgraph/player_bindings.hpp"
#include "tests/langgraph/player_http.hpp"
#include "tests/support/scripted_server.hpp"

namespace player {

/// Binds ids of its own to all placeholders of a scenario, except to those that the client chooses.
Bindings freshBindings(const json::value& scenario);

/// The reply that a step's `response` describes, with the ids of `bindings`, a time and a number.
Reply replyOf(const json::value& response, const Bindings& bindings);

/// A server that replies what a scenario says, in the order of its steps and with ids of its own. It checks that each
/// request is the recorded one.
class RecordedServer {
public:
    explicit RecordedServer(const json::object& scenario);
    RecordedServer(const RecordedServer&) = delete;
    RecordedServer& operator=(const RecordedServer&) = delete;

    unsigned short port() const { return server_.port(); }
    /// What was wrong with the requests, or the first step that was not asked for; empty: nothing. Call it after the
    /// conversation.
    std::string complaints() const;

private:
    struct Asked {
        std::string method;
        std::string path;
        std::string head;  // the first line and the headers
        json::value body;  // null: none; a text: what is no JSON
    };
    static Asked parse(const std::string& request);
    void serve(ScriptedServer::Peer& peer);
    std::string answerUntil(const json::value& until, const Asked& asked);
    std::string answer(std::size_t step, const Asked& asked);
    void check(const json::value& request, const Asked& asked);
    void complain(const std::string& what) { complaints_ += what + "\n"; }
    void hold(ScriptedServer::Peer& peer, std::size_t step);
    void sendWebhooks(const std::string& url) const;

    const json::value scenario_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Bindings bindings_;
    std::size_t next_ = 0;         // the step that is expected
    bool is_until_asked_ = false;  // whether that step is an `until` and was answered once
    std::string complaints_;       // one a line
    ScriptedServer server_;        // is destroyed first: its threads use the others
};

}  // namespace player
