#pragma once
#include <string>
#include <vector>

#include <stategraph/shared_list.hpp>
#include <stategraph/stategraph.hpp>

#include "benchmarks/support/figures.hpp"

namespace bench {

/// A thread that gets one message of 200 bytes in each superstep or run.
template <class Messages>
struct ConversationOf {
    Messages messages = {};
    int n = 0;
    static constexpr auto channels() {
        return stategraph::channels(stategraph::channel("messages", &ConversationOf::messages, stategraph::append),
                                    stategraph::channel("n", &ConversationOf::n));
    }
};
using Conversation = ConversationOf<std::vector<std::string>>;
using SharedConversation = ConversationOf<stategraph::SharedList<std::string>>;

constexpr std::size_t message_bytes = 200;

/// Returns the message of a step. All messages differ, so that compression does not affect the figures.
inline std::string messageOf(std::size_t step) { return randomText(message_bytes, static_cast<unsigned>(step)); }
/// Creates the messages before the clock runs, because random numbers cost more than a superstep.
inline const std::vector<std::string>& messages(std::size_t count) {
    static std::vector<std::string> made;
    while (made.size() < count) made.push_back(messageOf(made.size()));
    return made;
}

}  // namespace bench
