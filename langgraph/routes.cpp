#include <array>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/call.hpp"

// Finds the route of a request, and makes answers of errors.
namespace stategraph::langgraph {

namespace {

std::string_view cutSegment(std::string_view& target) {
    target.remove_prefix(1);  // the '/'
    const std::string_view segment = target.substr(0, target.find('/'));
    target.remove_prefix(segment.size());
    return segment;
}

/// The segments that a target has for ":id"; none: it is another target.
std::optional<std::vector<std::string>> idsOf(std::string_view target, std::string_view first,
                                              const std::vector<std::string>& rest) {
    if (cutSegment(target) != first) return {};
    std::vector<std::string> ids;
    for (const std::string& segment : rest) {
        if (target.empty()) return {};
        const std::string_view wanted = cutSegment(target);
        if (wanted == ":id") {
            ids.push_back(segment);
        } else if (wanted != segment) {
            return {};
        }
    }
    return target.empty() ? std::optional(std::move(ids)) : std::nullopt;
}

serve::HandlerAnswer refused(int status, std::string_view detail) {
    return answerOf(boost::json::object{{"detail", detail}}, status);
}

bool fitsMethod(std::string_view method, std::string_view wanted) {
    return method == wanted || (method == "HEAD" && wanted == "GET");
}

serve::HandlerAnswer failed(const Service& service, std::string_view text) {
    const serve::ErrorText told = service.errorTexts({}, {});
    return refused(500, told ? told("Internal Server Error", text) : std::string(text));
}

serve::HandlerAnswer answered(Service& service, std::string_view first, const serve::HandlerRequest& request) {
    const std::array groups{metaRows(),  assistantRows(), threadRows(),       stateRows(),     runRows(),
                            storeRows(), scheduleRows(),  threadStreamRows(), joinThreadRows()};
    std::string methods;
    for (const auto& rows : groups) {
        for (const Row& row : rows) {
            std::optional<std::vector<std::string>> ids = idsOf(row.target, first, request.segments);
            if (!ids) continue;
            if (fitsMethod(request.request.method(), row.method))
                return row.answer(Call(service, request, *std::move(ids)));
            methods += (methods.empty() ? "" : ", ") + std::string(row.method);
        }
    }
    if (methods.empty()) return refused(404, "Not Found");
    serve::HandlerAnswer answer = refused(405, "Method Not Allowed");
    answer.headers.emplace_back("Allow", methods);
    return answer;
}

}  // namespace

std::optional<int> statusOf(const Error& error) noexcept {
    switch (error.code()) {
        case Errc::invalid_argument:
        case Errc::wrong_type:
        case Errc::empty_input:
        case Errc::invalid_update:
        case Errc::unknown_interrupt:
            return 422;
        case Errc::concurrent_update:
        case Errc::thread_busy:
        case Errc::lease_lost:
        case Errc::thread_exists:
        case Errc::thread_changed:
        case Errc::store_changed:
            return 409;
        default:
            return {};
    }
}

serve::HandlerAnswer answer(Service& service, std::string_view first, const serve::HandlerRequest& request) {
    try {
        return answered(service, first, request);
    } catch (const TooManyRequests& why) {
        serve::HandlerAnswer answer = refused(why.status(), why.what());
        answer.headers.emplace_back("Retry-After", std::to_string(why.wait().count()));
        return answer;
    } catch (const ApiError& why) {
        return refused(why.status(), why.what());
    } catch (const Error& why) {
        if (const auto status = statusOf(why)) return refused(*status, why.what());
        return failed(service, why.what());
    } catch (const std::exception& why) {
        return failed(service, why.what());
    }
}

}  // namespace stategraph::langgraph
