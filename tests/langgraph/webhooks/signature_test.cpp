#include <string>

#include <doctest/doctest.h>

#include "langgraph/webhooks/signature.hpp"
#include "src/commands/thread_line.hpp"

using namespace stategraph::langgraph;

namespace {

std::string hex(const std::string& bytes) {
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += "0123456789abcdef"[byte >> 4U];
        text += "0123456789abcdef"[byte & 15U];
    }
    return text;
}

}  // namespace

TEST_CASE("an HMAC-SHA256 is that of RFC 4231") {
    CHECK(hex(hmacSha256(std::string(20, '\x0b'), "Hi There")) ==
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    CHECK(hex(hmacSha256("Jefe", "what do ya want for nothing?")) ==
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    CHECK(hex(hmacSha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("a signature is that of Standard Webhooks") {
    const std::string key = stategraph::commands::fromBase64("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").value();
    CHECK(webhookSignature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})") ==
          "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}
