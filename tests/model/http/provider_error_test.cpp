#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "model/http/provider_error.hpp"
#include "model/http/retrying.hpp"

namespace {

namespace md = stategraph::model;
namespace http = stategraph::model::http;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

const auto now = std::chrono::sys_days(std::chrono::year(1994) / 11 / 6) + 8h + 49min + 30s;
const http::Speaker speaker{"https://x/v1", "sk-1"};

md::ModelError refusal(const http::RefusalHead& head, const std::string& body) {
    return http::refusal(speaker, head, body, now);
}
bool has(const md::ModelError& error, const char* text) {
    return std::string(error.what()).find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("retry-after is seconds or a date, and never before now or after a day") {
    CHECK(http::retryAfter("7", now) == 7s);
    CHECK(http::retryAfter("0.25", now) == 250ms);
    CHECK(http::retryAfter("Sun, 06 Nov 1994 08:49:37 GMT", now) == 7s);
    CHECK(http::retryAfter("Sun, 06 Nov 1994 08:00:00 GMT", now) == 0ms);
    CHECK(http::retryAfter("Sun, 06 Nov 2094 08:00:00 GMT", now) == 24h);
    CHECK(http::retryAfter("1e300", now) == 24h);
    for (const char* const text :
         {"", "-1", "soon", "7s", "nan", "Sun, 06 Xov 1994 08:49:37 GMT", "Sun, 36 Nov 1994 08:49:37 GMT",
          "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 aa:49:37 GMT"}) {
        CAPTURE(text);
        CHECK(!http::retryAfter(text, now));
    }
}

TEST_CASE("a refusal says its status, the provider's words and whether it may pass; the key is not in it") {
    const md::ModelError busy =
        refusal({.status = 503, .retry_after = "3"}, R"({"error":{"message":"busy sk-1","type":"server_error"}})");
    CHECK(busy.status() == 503);
    CHECK(busy.isRetryable());
    CHECK(busy.retryAfter() == 3000ms);
    CHECK(std::string(busy.what()) ==
          "the model at https://x/v1 answered with the status 503: busy *** (server_error)");
    CHECK(refusal({.status = 429, .retry_after = "3", .retry_after_ms = "20"}, "").retryAfter() == 20ms);
    CHECK(!refusal({.status = 429}, R"({"error":{"message":"pay","type":"insufficient_quota"}})").isRetryable());
    CHECK(!refusal({.status = 401}, "").isRetryable());
    CHECK(refusal({.status = 400, .should_retry = "true"}, "").isRetryable());
    CHECK(!refusal({.status = 500, .should_retry = "false"}, "").isRetryable());
    CHECK(has(refusal({.status = 502}, "<html>\nBad Gateway</html>"), "<html> Bad Gateway</html>"));
    CHECK(has(refusal({.status = 422}, R"({"detail":"no such field"})"), ": no such field"));
    CHECK(has(refusal({.status = 400}, R"({"message":"no"})"), ": no"));
    CHECK(has(refusal({.status = 500}, ""), "no text"));
    CHECK(std::string(refusal({.status = 500}, std::string(60000, 'x')).what()).size() < 2200);
    const md::ModelError moved = refusal({.status = 307, .location = "https://evil"}, "");
    CHECK(has(moved, "https://evil"));
    CHECK(!moved.isRetryable());
}

TEST_CASE("waits before another attempt grow, obey the provider up to a limit, and end with the attempts or the time") {
    const md::HttpOptions options{.max_retries = 3, .max_retry_wait = 10s};
    const md::ModelError passes("", {.status = 500, .is_retryable = true});
    CHECK(http::waitBeforeRetry(passes, 1, options, 1h, 0) == 500ms);
    CHECK(http::waitBeforeRetry(passes, 1, options, 1h, 1) == 375ms);
    CHECK(http::waitBeforeRetry(passes, 3, options, 1h, 0) == 2s);
    CHECK(!http::waitBeforeRetry(passes, 4, options, 1h, 0));
    CHECK(!http::waitBeforeRetry(passes, 1, options, 100ms, 0));
    CHECK(!http::waitBeforeRetry(md::ModelError("", {.status = 400}), 1, options, 1h, 0));
    const auto asks = [](milliseconds time) {
        return md::ModelError("", {.status = 429, .is_retryable = true, .retry_after = time});
    };
    CHECK(http::waitBeforeRetry(asks(7s), 1, options, 1h, 1) == 7s);
    CHECK(!http::waitBeforeRetry(asks(11s), 1, options, 1h, 0));
    CHECK(http::waitBeforeRetry(passes, 50, {.max_retries = 100}, 1h, 0) == 8s);
}

TEST_CASE("what a provider shows of a key is not in an error") {
    const http::Speaker keyed{"https://x/v1", "sk-proj-abcdefghijklmnop1234"};
    const auto said = [&](const std::string& text) {
        return std::string(http::refusal(keyed, {.status = 401}, text, now).what());
    };
    for (const char* const shown : {"sk-proj-abcdefghijklmnop1234", "sk-proj-********1234", "sk-proj...1234", "sk-pr**",
                                    "key **1234.", "sk-proj-abcdefghij", "the part ghijklmnop of it"}) {
        const std::string text = said(std::string("Incorrect API key provided: ") + shown + " Go on.");
        CAPTURE(text);
        CHECK(text.find("1234") == std::string::npos);
        CHECK(text.find("sk-pr") == std::string::npos);
        CHECK(text.find("ghij") == std::string::npos);
        CHECK(text.find("Incorrect API key provided: ") != std::string::npos);
        CHECK(text.find("Go on.") != std::string::npos);
    }
    for (std::size_t before = 2000; before < 2060; ++before) {
        const std::string text = said(std::string(before, 'x') + "sk-proj-abcdefghijklmnop1234 and more of it" +
                                      "sk-proj-abcdefghijklmnop1234");
        CHECK(text.find("sk-") == std::string::npos);
        CHECK(text.find("1234") == std::string::npos);
    }
}

TEST_CASE("a refusal of Google says when to ask again, and that a quota of the day is used up") {
    const std::string begin =
        R"([{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":[)";
    const std::string retry = R"({"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"})";
    const auto error = refusal({.status = 429}, begin + retry + "]}}]");
    CHECK(error.isRetryable());
    CHECK(error.retryAfter() == std::chrono::milliseconds(34'500));
    CHECK(std::string(error.what()).find("slow down (RESOURCE_EXHAUSTED)") != std::string::npos);
    const std::string quota = R"({"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[7,
        {"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]},)";
    CHECK_FALSE(refusal({.status = 429}, begin + quota + retry + "]}}]").isRetryable());
}
