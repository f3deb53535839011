#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/error.hpp>
#include <stategraph/partial_json.hpp>

#include "tests/fuzz/targets.hpp"
#include "tests/support/json_compare.hpp"

namespace fuzz {
namespace {

namespace json = boost::json;
namespace sg = stategraph;
using sg::PartialState;

// The first byte determines how the text is fed and read.
struct Input {
    std::size_t chunk;
    bool clean;
    std::string_view text;
};

std::optional<Input> inputOf(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return std::nullopt;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    return Input{1 + data[0] % 7U, (data[0] & 0x80U) != 0, bytes.substr(1)};
}

// Feeds the text in chunks. Returns false if it reached a limit. Its values must be readable at any time.
bool feed(sg::PartialJson& partial, std::string_view text, std::size_t chunk) {
    try {
        partial.feed({});
        for (std::size_t at = 0; at < text.size(); at += chunk) {
            partial.feed(text.substr(at, chunk));
            (void)partial.isOpen(partial.value());
        }
        return true;
    } catch (const sg::InvalidArgumentError&) {
        if (partial.state() != PartialState::failed_parse) found("a text that reached a limit has not failed");
        return false;
    }
}

// A text that is JSON is successful unless a key is refused, and no other text is.
void compareWithReader(const sg::PartialJson& partial, std::string_view text) {
    const sg::detail::JsonRead read = sg::detail::readJson(text, 256);
    if (read.error == json::error::exponent_overflow) return;
    const bool is_successful = partial.state() == PartialState::successful_parse;
    if (read.error && is_successful) found("a text is successful that is not JSON: " + read.error.message());
    if (!read.error && !is_successful && !partial.lastValue().is_null()) found("a text is not successful that is JSON");
    if (is_successful && !json_compare::same(partial.value(), read.value)) found("a value is not what is read whole");
}

}  // namespace

int runPartialJson(const std::uint8_t* data, std::size_t size) {
    const auto input = inputOf(data, size);
    if (!input) return 0;
    const sg::PartialJsonOptions options{.clean = input->clean};
    sg::PartialJson whole(options);
    sg::PartialJson split(options);
    const bool fits = feed(whole, input->text, std::max<std::size_t>(input->text.size(), 1));
    if (feed(split, input->text, input->chunk) != fits) found("a limit depends on how the text is split");
    if (split.state() != whole.state()) found("a state depends on how the text is split");
    if (!fits) return 0;
    // Compared as text, because infinity is a value too.
    if (json::serialize(split.lastValue()) != json::serialize(whole.lastValue())) {
        found("a value depends on how the text is split");
    }
    if (!input->clean) compareWithReader(whole, input->text);
    return 0;
}

}  // namespace fuzz
