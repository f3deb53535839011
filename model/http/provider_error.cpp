#include "model/http/provider_error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "model/http/json_access.hpp"
#include "model/http/text.hpp"

namespace stategraph::model::http {

namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr milliseconds longest_wait = std::chrono::hours(24);

/// The content of a provider's error, in any of the usual shapes.
struct Told {
    std::string message;
    std::string kind;  // its types and codes, each after a blank
    int status = 0;    // the HTTP status, if the error contains one
    std::optional<milliseconds> retry_after = {};
};

void addKind(Told& told, const json::object& error, std::string_view name) {
    if (const std::string_view text = textOf(error, name); !text.empty()) told.kind.append(" ").append(text);
    const std::optional<std::int64_t> code = integerOf(error, name);
    if (code && *code >= 400 && *code < 600) told.status = static_cast<int>(*code);
}

milliseconds asWait(double of_milliseconds) {
    return milliseconds(
        static_cast<std::int64_t>(std::min(of_milliseconds, static_cast<double>(longest_wait.count()))));
}

std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= 0)) return {};
    return value;
}

/// Reads one of Google's details (google.rpc): when the request may be sent again, or that a quota of a day is used up,
/// for which waiting does not help.
void addDetail(Told& told, const json::object& detail) {
    const std::string_view type = textOf(detail, "@type");
    if (type.ends_with("google.rpc.RetryInfo")) {
        std::string_view delay = textOf(detail, "retryDelay");  // such as "34.07s"
        if (delay.ends_with('s')) delay.remove_suffix(1);
        if (const std::optional<double> seconds = number(delay)) told.retry_after = asWait(*seconds * 1000);
    } else if (type.ends_with("google.rpc.ErrorInfo")) {
        if (const std::string_view reason = textOf(detail, "reason"); !reason.empty())
            told.kind.append(" ").append(reason);
    } else if (const json::array* const violations = arrayOf(detail, "violations")) {
        for (const json::value& each : *violations) {
            const json::object* const violation = each.if_object();
            if (violation == nullptr || textOf(*violation, "quotaId").find("PerDay") == std::string_view::npos)
                continue;
            told.kind += " quota_of_the_day";
            return;
        }
    }
}

/// Returns the HTTP status for the name of one of google.rpc.Code; 0 for another text.
int statusOf(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, int>, 11> names = {{{"INVALID_ARGUMENT", 400},
                                                                         {"FAILED_PRECONDITION", 400},
                                                                         {"UNAUTHENTICATED", 401},
                                                                         {"PERMISSION_DENIED", 403},
                                                                         {"NOT_FOUND", 404},
                                                                         {"ABORTED", 409},
                                                                         {"RESOURCE_EXHAUSTED", 429},
                                                                         {"INTERNAL", 500},
                                                                         {"UNKNOWN", 500},
                                                                         {"UNAVAILABLE", 503},
                                                                         {"DEADLINE_EXCEEDED", 504}}};
    const auto found = std::find_if(names.begin(), names.end(), [&](const auto& each) { return each.first == name; });
    return found != names.end() ? found->second : 0;
}

Told read(const json::value& error) {
    Told told;
    if (const json::string* text = error.if_string()) told.message = std::string(text->data(), text->size());
    const json::object* object = error.if_object();
    if (object == nullptr) return told;
    told.message = textOf(*object, "message");
    for (const std::string_view name : {"type", "code", "status"}) addKind(told, *object, name);
    if (told.status == 0) told.status = statusOf(textOf(*object, "status"));
    if (const json::array* const details = arrayOf(*object, "details")) {
        for (const json::value& each : *details) {
            if (const json::object* const detail = each.if_object()) addDetail(told, *detail);
        }
    }
    return told;
}

/// Reads the body of a refusal, which is an object with `error`, `message` or `detail`, or a list of one such object,
/// as Google's servers write it. Other bodies have no message.
Told readBody(std::string_view body) {
    std::optional<json::value> parsed = parseJsonText(body);
    if (parsed && parsed->is_array() && parsed->get_array().size() == 1) {
        json::value only = std::move(parsed->get_array().front());
        parsed = std::move(only);
    }
    const json::object* object = parsed ? parsed->if_object() : nullptr;
    if (object == nullptr) return {};
    if (const json::value* error = member(*object, "error")) return read(*error);
    if (member(*object, "message") != nullptr) return read(*parsed);
    if (const json::value* detail = member(*object, "detail")) return read(*detail);
    return {};
}

bool has(const Told& told, std::string_view word) { return told.kind.find(word) != std::string::npos; }

bool isFinal(const Told& told) {
    constexpr std::array<std::string_view, 10> words = {"invalid",     "auth",           "quota",   "permission",
                                                        "not_found",   "context_length", "billing", "too_large",
                                                        "unsupported", "policy"};
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return has(told, word); });
}

/// An exhausted quota results in a 429, as too many requests do, but waiting does not help.
bool isUsedUp(const Told& told) { return has(told, "quota") || has(told, "billing"); }

bool mayPass(int status) { return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500; }

std::string said(const Told& told) {
    return told.kind.empty() ? told.message : told.message + " (" + told.kind.substr(1) + ")";
}

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t size) {
    int value = 0;
    if (at + size > text.size()) return {};
    const char* const end = text.data() + at + size;
    const auto [read, error] = std::from_chars(text.data() + at, end, value);
    if (error != std::errc() || read != end) return {};
    return value;
}

/// Reads a date such as "Sun, 06 Nov 1994 08:49:37 GMT", the only form that is still written.
std::optional<std::chrono::system_clock::time_point> httpDate(std::string_view text) {
    using namespace std::chrono;
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (text.size() != 29 || text.substr(25) != " GMT") return {};
    const std::size_t month = months.find(text.substr(8, 3));
    const auto day = digits(text, 5, 2);
    const auto year = digits(text, 12, 4);
    const auto hour = digits(text, 17, 2);
    const auto minute = digits(text, 20, 2);
    const auto second = digits(text, 23, 2);
    if (month == std::string_view::npos || month % 3 != 0 || !day || !year || !hour || !minute || !second) return {};
    const year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(month / 3 + 1)),
                              std::chrono::day(static_cast<unsigned>(*day)));
    if (!date.ok()) return {};
    return sys_days(date) + hours(*hour) + minutes(*minute) + seconds(*second);
}

}  // namespace

ModelError Speaker::error(std::string_view says, ModelError::Details details) const {
    return {called + " at " + endpoint + " " + std::string(says), details};
}

std::optional<milliseconds> retryAfter(std::string_view header, std::chrono::system_clock::time_point now) {
    if (const std::optional<double> seconds = number(header)) return asWait(*seconds * 1000);
    const auto date = httpDate(header);
    if (!date) return {};
    const auto wait = std::chrono::duration_cast<milliseconds>(*date - now);
    return std::clamp(wait, milliseconds(0), longest_wait);
}

ModelError refusal(const Speaker& speaker, const RefusalHead& head, std::string_view body,
                   std::chrono::system_clock::time_point now) {
    const Told told = readBody(body);
    ModelError::Details details{.status = head.status, .is_retryable = mayPass(head.status), .retry_after = {}};
    if (isUsedUp(told)) details.is_retryable = false;
    if (head.should_retry == "true" || head.should_retry == "false") details.is_retryable = head.should_retry == "true";
    if (const std::optional<double> exact = number(head.retry_after_ms)) {
        details.retry_after = asWait(*exact);
    } else {
        details.retry_after = retryAfter(head.retry_after, now);
    }
    if (!details.retry_after) details.retry_after = told.retry_after;
    std::string says = "answered with the status " + std::to_string(head.status);
    if (head.status >= 300 && head.status < 400) {
        says +=
            " and redirects, which is not followed, because the key would go there too; set base_url to where it "
            "is";
        if (!head.location.empty()) says += ": " + quoted(head.location, speaker.secret);
        return speaker.error(says, details);
    }
    const std::string quote = quoted(told.message.empty() ? body : std::string_view(said(told)), speaker.secret);
    return speaker.error(quote.empty() ? says + " and no text" : says + ": " + quote, details);
}

ModelError streamedError(const Speaker& speaker, const json::value& error) {
    const Told told = read(error);
    const std::string whole = told.message.empty() ? json::serialize(error) : said(told);
    ModelError::Details details{.status = told.status != 0 ? told.status : 200,
                                .is_retryable = !isFinal(told),
                                .retry_after = told.retry_after};
    if (told.status != 0) details.is_retryable = mayPass(told.status) && !isUsedUp(told);
    return speaker.error("reported an error in its answer: " + quoted(whole, speaker.secret), details);
}

ModelError brokenOff(const Speaker& speaker, std::string_view how) {
    return speaker.error(how, {.status = 200, .is_retryable = true, .retry_after = {}});
}

}  // namespace stategraph::model::http
