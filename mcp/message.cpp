#include "mcp/message.hpp"

#include <cmath>
#include <utility>

#include <stategraph/detail/json_reading.hpp>

#include "mcp/broken_message.hpp"

namespace stategraph::mcp::detail {

namespace json = boost::json;

namespace {

constexpr std::size_t depth_max = 200;  // a Value may be 256 deep
// What is read of each message takes more memory than its text.
constexpr std::size_t batch_max = 10'000;

constexpr double exact_max = 9007199254740992.0;  // integers up to here are exact

const json::value* memberIn(const json::object& object, std::string_view name) {
    return object.if_contains(json::string_view(name.data(), name.size()));
}

/// Servers send ids back as they were, or as text, or as a real number.
std::int64_t readId(const json::value& value) {
    if (const json::string* const text = value.if_string()) return idIn(std::string_view(text->data(), text->size()));
    if (const double* const real = value.if_double())
        return *real >= 0 && *real <= exact_max && *real == std::trunc(*real) ? static_cast<std::int64_t>(*real) : -1;
    const std::int64_t* const number = value.if_int64();
    return number != nullptr && *number >= 0 ? *number : -1;
}

}  // namespace

std::string quotedJson(std::string_view text) {
    return json::serialize(json::string(json::string_view(text.data(), text.size())));
}

std::string requestText(std::int64_t id, std::string_view method, std::string_view params) {
    std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + ",\"method\":" + quotedJson(method);
    text += ",\"params\":";
    text += params;
    text += '}';
    return text;
}

std::string notificationText(std::string_view method, std::string_view params) {
    std::string text = R"({"jsonrpc":"2.0","method":)" + quotedJson(method);
    if (!params.empty()) text += ",\"params\":";
    text += params;
    text += '}';
    return text;
}

std::string answerText(std::string_view id, std::string_view result) {
    return R"({"jsonrpc":"2.0","id":)" + std::string(id) + ",\"result\":" + std::string(result) + "}";
}

std::string refusalText(std::string_view id, int code, std::string_view message) {
    return R"({"jsonrpc":"2.0","id":)" + std::string(id) + ",\"error\":{\"code\":" + std::to_string(code) +
           ",\"message\":" + quotedJson(message) + "}}";
}

std::string stringOf(const json::object& object, std::string_view name) {
    const json::value* const found = memberIn(object, name);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

const json::object* objectIn(const json::object& object, std::string_view name) {
    const json::value* const found = memberIn(object, name);
    return found != nullptr ? found->if_object() : nullptr;
}

const json::array* arrayIn(const json::object& object, std::string_view name) {
    const json::value* const found = memberIn(object, name);
    return found != nullptr ? found->if_array() : nullptr;
}

std::optional<bool> flagOf(const json::object& object, std::string_view name) {
    const json::value* const found = memberIn(object, name);
    return found != nullptr && found->is_bool() ? std::optional(found->get_bool()) : std::nullopt;
}

std::optional<double> numberOf(const json::object& object, std::string_view name) {
    const json::value* const found = memberIn(object, name);
    if (found == nullptr || !found->is_number()) return {};
    return found->to_number<double>();
}

std::int64_t idOf(const json::object& object, std::string_view name) {
    const json::value* const found = memberIn(object, name);
    return found != nullptr ? readId(*found) : -1;
}

namespace {

/// Reads the error of an answer, which servers write in several ways.
void readError(const json::value& error, Incoming& out) {
    out.kind = Incoming::Kind::error;
    if (const json::object* const object = error.if_object()) {
        const json::value* const code = memberIn(*object, "code");
        if (code != nullptr && code->is_int64()) out.error_code = code->get_int64();
        out.error_text = stringOf(*object, "message");
    }
    if (out.error_text.empty()) out.error_text = json::serialize(error);
}

}  // namespace

namespace {

Incoming readOne(json::value& value) {
    Incoming out;
    json::object* const message = value.if_object();
    if (message == nullptr) return out;
    if (stringOf(*message, "jsonrpc") != "2.0") {
        if (!message->contains("method") && (message->contains("result") || message->contains("error"))) {
            out.id = idOf(*message, "id");
            out.error_text = R"(it lacks "jsonrpc":"2.0")";
        }
        return out;
    }
    const json::value* const id = memberIn(*message, "id");
    out.method = stringOf(*message, "method");
    if (!out.method.empty()) {
        const bool is_request = id != nullptr && (id->is_string() || id->is_number());
        out.kind = is_request ? Incoming::Kind::request : Incoming::Kind::notification;
        if (is_request) out.request_id = json::serialize(*id);
        if (json::value* const params = message->if_contains("params"); params != nullptr && params->is_object())
            out.content = std::move(params->get_object());
        return out;
    }
    out.id = idOf(*message, "id");
    out.has_id = id != nullptr && !id->is_null();
    if (const json::value* const failed = memberIn(*message, "error")) {
        readError(*failed, out);
    } else if (json::value* const result = message->if_contains("result"); result != nullptr && result->is_object()) {
        out.kind = Incoming::Kind::result;
        out.content = std::move(result->get_object());
    } else if (out.id >= 0) {
        out.kind = Incoming::Kind::error;
        out.error_text = "the answer has neither an object as its result nor an error";
    }
    return out;
}

}  // namespace

std::vector<Incoming> readMessages(std::string_view text) {
    auto [value, error, at, members] = stategraph::detail::readJson(text, depth_max);
    std::vector<Incoming> messages;
    if (error) {
        std::vector<std::int64_t> answered = answeredIn(text);
        if (answered.empty()) answered.push_back(-1);
        for (const std::int64_t id : answered) {
            messages.emplace_back().id = id;
            messages.back().is_json = false;
            messages.back().error_text = "it is not JSON at byte " + std::to_string(at) + " of " +
                                         std::to_string(text.size()) + ", " + error.message();
        }
    } else if (json::array* const batch = value.if_array(); batch != nullptr && !batch->empty()) {
        if (batch->size() > batch_max) {
            messages.emplace_back().error_text =
                "it is a batch of more than " + std::to_string(batch_max) + " messages";
            return messages;
        }
        for (json::value& each : *batch) messages.push_back(readOne(each));
    } else {
        messages.push_back(readOne(value));
    }
    return messages;
}

std::string quotedPart(std::string_view text, std::size_t limit) {
    std::string out;
    text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
    for (std::size_t at = 0; at < text.size() && out.size() < limit; ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte == '\n') {
            out += ' ';
        } else {
            out += byte < ' ' || byte >= 0x7f ? '?' : text[at];
        }
    }
    if (text.size() > limit) out += "...";
    return out;
}

std::string joined(std::string_view what, std::string_view why) noexcept {
    try {
        return std::string(what).append(why);
    } catch (const std::exception&) {
        return {};
    }
}

}  // namespace stategraph::mcp::detail
