#pragma once
#include <string_view>

#include "mcp/broken_message.hpp"
#include "mcp/message.hpp"
#include "tests/fuzz/found.hpp"
#include "tests/fuzz_products/targets.hpp"

namespace fuzz {

inline int runMcp(std::string_view bytes) {
    namespace mcp = stategraph::mcp::detail;
    try {
        for (const auto& message : mcp::readMessages(bytes)) {
            if (message.has_id && message.id < -1) found("an id below -1");
            if (message.kind == mcp::Incoming::Kind::request && message.method.empty() && message.request_id.empty())
                found("a request has neither a name nor an id");
        }
        for (const auto id : mcp::answeredIn(bytes)) {
            if (id < 0) found("an answer to a request that cannot be");
        }
        for (const char c : mcp::quotedPart(bytes)) {
            if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~')
                found("what a server wrote is shown as it is");
        }
    } catch (const std::exception& error) {
        found(std::string("reading a message throws ") + error.what());
    }
    return 0;
}

}  // namespace fuzz
