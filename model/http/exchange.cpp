#include "model/http/exchange.hpp"

#include <chrono>
#include <functional>
#include <utility>

#include "model/http/curl_loop.hpp"
#include "model/http/repeated.hpp"
#include "model/http/stopping.hpp"

namespace stategraph::model::http {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_refusal_bytes = 65536;

Task<std::string> exchangeOnce(std::shared_ptr<const HttpClient> client, std::shared_ptr<const std::string> body,
                               Stopping& stopping, Clock::time_point deadline) {
    HttpStream stream(client, stopping, deadline);
    const HttpHead head = co_await stream.open(std::move(body));
    if (head.status < 200 || head.status > 299) {
        ModelError error = co_await refused(*client, stream, head);
        throw ModelError(error);
    }
    std::string answer;
    for (;;) {
        const std::string piece = co_await stream.read();
        if (piece.empty()) break;
        answer += piece;
        if (answer.size() > client->limits.max_answer_bytes) {
            throw client->speaker.error(
                "sent more than max_answer_bytes, which is " + std::to_string(client->limits.max_answer_bytes),
                {.status = head.status, .is_retryable = false, .retry_after = {}});
        }
    }
    stream.leave();
    co_return answer;
}

}  // namespace

Task<ModelError> refused(const HttpClient& client, HttpStream& stream, HttpHead head) {
    std::string body;
    try {
        while (body.size() < max_refusal_bytes) {
            const std::string piece = co_await stream.read();
            if (piece.empty()) break;
            body += piece;
        }
    } catch (const ModelError&) {
        // The status alone says enough.
    }
    ModelError error = refusal(client.speaker, head, body, std::chrono::system_clock::now());
    if (client.is_temporary != nullptr) {
        error = ModelError(error.what(), {.status = head.status,
                                          .is_retryable = client.is_temporary(head.status),
                                          .retry_after = error.retryAfter()});
    }
    co_return error;
}

Task<std::string> exchange(std::shared_ptr<const HttpClient> client, std::string body, const Asking& asking) {
    Stopping stopping(asking);
    stopping.check();
    if (isEnding())
        throw client->speaker.error("cannot be asked any more: the process is ending",
                                    {.status = 0, .is_retryable = false, .retry_after = {}});
    const Clock::time_point deadline = Clock::now() + client->limits.total_limit;
    const auto sent = std::make_shared<const std::string>(std::move(body));
    const std::function<Task<std::string>()> once = [&] { return exchangeOnce(client, sent, stopping, deadline); };
    const std::function<bool()> may_repeat = [] { return true; };
    Task<std::string> asked = repeated(*client, stopping, deadline, once, may_repeat);
    std::string answer = co_await std::move(asked);
    co_return answer;
}

}  // namespace stategraph::model::http
