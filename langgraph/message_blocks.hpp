#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <boost/json.hpp>

namespace stategraph::langgraph {

/// Messages as blocks of content, which the second protocol sends: each message begins, each of its blocks begins,
/// grows and is finished before the next one begins, and the message is finished. Used by one thread at a time.
class MessageBlocks {
public:
    /// Gets the data of each event.
    using Tell = std::function<void(boost::json::object data)>;

    /// A piece of a message that a task writes, as clients read it. A message of the same task that is not finished is
    /// finished first if it is another one.
    void piece(const std::string& task, const boost::json::value& piece, const Tell& tell);
    /// A whole message.
    void whole(const std::string& task, const boost::json::value& message, const Tell& tell);
    /// Finishes what a task has begun.
    void finish(const std::string& task, const Tell& tell);

private:
    struct Open {
        std::string id;
        std::string run_id;  // of the call of the model
        std::int64_t index = -1;
        boost::json::object block = {};  // that is written; empty: none
    };
    static void start(Open& open, std::string_view role, const Tell& tell);
    static void startBlock(Open& open, boost::json::object block, const Tell& tell);
    static void grow(Open& open, const char* member, std::string_view text, const Tell& tell);
    static void finishBlock(Open& open, const Tell& tell);
    static void say(const Open& open, boost::json::object data, const Tell& tell);
    static void takeContent(Open& open, const boost::json::value& content, const Tell& tell);
    static void takeCalls(Open& open, const boost::json::value& chunks, const Tell& tell);

    std::map<std::string, Open, std::less<>> open_;  // by task
};

}  // namespace stategraph::langgraph
