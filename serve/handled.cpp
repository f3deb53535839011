#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "serve/reply.hpp"
#include "serve/requested.hpp"

// The answers of a program's handlers.
namespace stategraph::serve {

namespace {

// How often an answer that is sent later is asked whether it is due.
constexpr auto later_pause = std::chrono::milliseconds(5);

}  // namespace

Connection::Reply Connection::handled(const Request& request, const Asked& asked) const {
    const Requested view(request, asked);
    const std::vector<std::string>& segments = asked.route.segments;
    Held::Place place;
    bool is_taken = false;
    std::optional<Answer> refused;
    const auto take_stream = [&] {
        if (!is_taken) refused = refusalOfStream(request, asked, place);
        is_taken = !refused;
        return is_taken;
    };
    HandlerAnswer made = (*asked.handler)({view,
                                           {segments.begin() + 1, segments.end()},
                                           asked.route.query,
                                           request.body(),
                                           asked.route.lists,
                                           asked.identity,
                                           take_stream});
    if (made.status < 200 || made.status > 599) throw std::logic_error("a handler answered with a wrong status");
    Answer answer = textAnswer(request, http::int_to_status(static_cast<unsigned>(made.status)),
                               std::move(made.content_type), std::move(made.body));
    for (const auto& [name, value] : made.headers) {
        if (!isHeader(name, value)) throw std::logic_error("a handler's header field '" + name + "' is none");
        answer.set(name, value);
    }
    if (made.is_due) return Later{std::move(answer), std::move(made.is_due)};
    if (made.socket) return talkOf(request, asked, *std::move(made.socket));
    if (!made.events || request.method() == http::verb::head) return answer;
    if (made.status != 200 || !made.events->next || made.events->every < std::chrono::milliseconds(1))
        throw std::logic_error("a handler's events need the status 200, a function, and a time of at least 1 ms");
    if (!take_stream()) return *std::move(refused);
    return HandlerStream{std::move(answer), *std::move(made.events), std::move(place)};
}

asio::awaitable<bool> Connection::sendLater(const std::function<bool()>& is_due, const Answer& answer) {
    asio::steady_timer wait(socket_->get_executor());
    while (!shared_->is_draining && !is_due()) {
        wait.expires_after(later_pause);
        boost::system::error_code ignored;
        co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    const bool goes_on = co_await send(answer);
    co_return goes_on;
}

}  // namespace stategraph::serve
