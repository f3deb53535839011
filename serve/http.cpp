#include "serve/http.hpp"

#include <algorithm>
#include <cctype>
#include <new>

#include <boost/json.hpp>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/error.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/json.hpp>

#include "serve/run_table.hpp"

namespace stategraph::serve {

// Names in requests may be any bytes; jsonText shows those that are not UTF-8.
std::string errorJson(std::string_view text) {
    return stategraph::detail::jsonText(boost::json::object{{"error", text}}) + "\n";
}

std::string errorJson(const std::exception& error) {
    boost::json::object body{{"error", error.what()}};
    if (const auto* const unknown = dynamic_cast<const UnknownInterruptError*>(&error)) {
        body.emplace("reason", toString(unknown->reason()));
        body.emplace("answered", unknown->isAnswered());
        body.emplace("ids", boost::json::value_from(unknown->ids()));
        boost::json::array pending;
        for (const Interrupt& asked : unknown->pending()) {
            boost::json::object shown{{"id", asked.id.toString()}};
            if (!asked.key.empty()) shown.emplace("key", asked.key);
            shown.emplace("value", toJsonValue(asked.value));
            pending.push_back(std::move(shown));
        }
        body.emplace("pending", std::move(pending));
    }
    return stategraph::detail::jsonText(body) + "\n";
}

bool isHeader(std::string_view name, std::string_view value) noexcept {
    const auto is_token = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
    const auto is_text = [](unsigned char c) { return (c >= ' ' && c != 0x7F) || c == '\t'; };
    return !name.empty() && std::ranges::all_of(name, is_token) && std::ranges::all_of(value, is_text);
}

namespace {
http::status statusOf(Errc code) noexcept {
    switch (code) {
        case Errc::invalid_argument:
        case Errc::wrong_type:
        case Errc::empty_input:
            return http::status::bad_request;
        case Errc::concurrent_update:
        case Errc::thread_busy:
        case Errc::lease_lost:
        case Errc::thread_exists:
        case Errc::thread_changed:
        case Errc::store_changed:
        case Errc::unknown_interrupt:
            return http::status::conflict;
        case Errc::invalid_update:
        case Errc::saver_failed:
        case Errc::store_failed:
            return http::status::service_unavailable;
        default:
            return http::status::internal_server_error;
    }
}
}  // namespace

Failure failureOf(const std::exception_ptr& error) {
    const auto failure = [](http::status status, const std::exception& why, bool is_for_client) {
        return Failure{status, why.what(), errorJson(why), is_for_client};
    };
    const auto told = [](http::status status, std::string text) {
        std::string json = errorJson(text);
        return Failure{status, std::move(text), std::move(json)};
    };
    try {
        std::rethrow_exception(error);
    } catch (const NotNowError& why) {
        return failure(http::status::service_unavailable, why, true);
    } catch (const Error& known) {
        const http::status status = statusOf(known.code());
        return failure(status, known, http::to_status_class(status) == http::status_class::client_error);
    } catch (const std::bad_alloc&) {
        return told(http::status::service_unavailable, "there was no memory for it; try again later");
    } catch (const std::exception& other) {
        return failure(http::status::internal_server_error, other, false);
    } catch (...) {
        return told(http::status::internal_server_error, untold_failure);
    }
}

}  // namespace stategraph::serve
