#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <stategraph/agent/ready_middleware.hpp>

namespace stategraph::agent {

namespace {

bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }
bool isLetter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isOfDomain(char c) noexcept { return isDigit(c) || isLetter(c) || c == '.' || c == '-'; }
bool isOfLocal(char c) noexcept { return isOfDomain(c) || c == '_' || c == '+' || c == '%'; }

std::string withoutEmails(const std::string& text) {
    std::string out;
    std::size_t copied = 0;
    for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1)) {
        std::size_t begin = at;
        while (begin > copied && isOfLocal(text[begin - 1])) --begin;
        std::size_t end = at + 1;
        while (end < text.size() && isOfDomain(text[end])) ++end;
        while (end > at && (text[end - 1] == '.' || text[end - 1] == '-')) --end;  // of the sentence
        const bool has_dot = end > at + 1 && text.find('.', at + 1) < end;
        if (begin == at || !has_dot) continue;
        out.append(text, copied, begin - copied).append("[email]");
        copied = end;
    }
    return out.append(text, copied);
}

/// Whether the last digit is the check digit of the others (Luhn).
bool isCard(std::string_view digits) noexcept {
    constexpr std::size_t least = 13;
    constexpr std::size_t most = 19;
    if (digits.size() < least || digits.size() > most) return false;
    int sum = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        const int digit = digits[digits.size() - 1 - i] - '0';
        const int doubled = digit * 2;
        sum += i % 2 == 0 ? digit : doubled / 10 + doubled % 10;
    }
    return sum % 10 == 0;
}

std::string withoutCards(const std::string& text) {
    std::string out;
    std::size_t copied = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (!isDigit(text[at])) {
            ++at;
            continue;
        }
        std::string digits;
        std::size_t end = at;
        for (std::size_t i = at; i < text.size(); ++i) {
            if (isDigit(text[i])) {
                digits += text[i];
                end = i + 1;
            } else if ((text[i] != ' ' && text[i] != '-') || i + 1 == text.size() || !isDigit(text[i + 1])) {
                break;
            }
        }
        if (isCard(digits)) {
            out.append(text, copied, at - copied).append("[card]");
            copied = end;
        }
        at = end;
    }
    return out.append(text, copied);
}

std::string redacted(const RedactOptions& options, std::string text) {
    if (options.emails && text.find('@') != std::string::npos) text = withoutEmails(text);
    if (options.cards) text = withoutCards(text);
    for (const auto& each : options.also) text = each(std::move(text));
    return text;
}

void redactTexts(const RedactOptions& options, model::Message& message) {
    for (model::Part& part : message.content) {
        if (auto* const text = std::get_if<model::Text>(&part)) text->text = redacted(options, std::move(text->text));
        if (auto* const thought = std::get_if<model::Reasoning>(&part); thought && thought->signature.empty())
            thought->text = redacted(options, std::move(thought->text));
    }
    if (!message.result) return;
    const std::string whole = message.result->text();
    if (std::string text = redacted(options, whole); text != whole) message.result->output = Value(std::move(text));
}

}  // namespace

Middleware redact(RedactOptions options) {
    std::string name = options.name;
    const auto shared = std::make_shared<const RedactOptions>(std::move(options));
    Middleware made{.name = std::move(name), .before_model = [shared](ModelCall& call) {
                        std::vector<model::Message> sent = call.sent();
                        for (model::Message& message : sent) redactTexts(*shared, message);
                        call.messages = std::move(sent);
                        call.is_held = call.is_held || shared->answers;
                    }};
    if (shared->answers) {
        made.after_model = [shared](ModelCall&, model::Reply& reply) { redactTexts(*shared, reply.message); };
    }
    return made;
}

}  // namespace stategraph::agent
