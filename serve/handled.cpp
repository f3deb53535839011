#include <stdexcept>
#include <utility>
#include <vector>

#include "serve/reply.hpp"
#include "serve/requested.hpp"

// The answers of a program's handlers.
namespace stategraph::serve {

Connection::Reply Connection::handled(const Request& request, const Asked& asked) const {
    const Requested view(request, asked);
    const std::vector<std::string>& segments = asked.route.segments;
    HandlerAnswer made = (*asked.handler)({view,
                                           {segments.begin() + 1, segments.end()},
                                           asked.route.query,
                                           request.body(),
                                           asked.route.lists,
                                           asked.identity});
    if (made.status < 200 || made.status > 599) throw std::logic_error("a handler answered with a wrong status");
    Answer answer = textAnswer(request, http::int_to_status(static_cast<unsigned>(made.status)),
                               std::move(made.content_type), std::move(made.body));
    for (const auto& [name, value] : made.headers) {
        if (!isHeader(name, value)) throw std::logic_error("a handler's header field '" + name + "' is none");
        answer.set(name, value);
    }
    if (made.is_due) return Later{std::move(answer), std::move(made.is_due)};
    if (!made.events || request.method() == http::verb::head) return answer;
    if (made.status != 200 || !made.events->next || made.events->every < std::chrono::milliseconds(1))
        throw std::logic_error("a handler's events need the status 200, a function, and a time of at least 1 ms");
    return HandlerStream{std::move(answer), *std::move(made.events)};
}

}  // namespace stategraph::serve
