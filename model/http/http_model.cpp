#include "model/http/http_model.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <utility>

#include <stategraph/error.hpp>

#include "model/http/http_stream.hpp"
#include "model/http/retrying.hpp"
#include "model/http/sse_parser.hpp"
#include "model/http/stopping.hpp"
#include "model/http/text.hpp"

namespace stategraph::model::http {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t max_refusal_bytes = 65536;
/// Limits the wait for what follows a complete answer: its token usage, and the end.
constexpr milliseconds grace = std::chrono::seconds(5);

double randomFraction() {
    thread_local std::minstd_rand engine(std::random_device{}());
    return std::uniform_real_distribution<double>(0, 1)(engine);
}

/// Reads the body of an answer, event by event.
class Body {
public:
    Body(const HttpClient& client, AnswerReader& reader)
        : client_(&client), reader_(&reader), parser_(client.limits.max_answer_bytes) {}

    void take(std::string_view piece) {
        size_ += piece.size();
        if (size_ > client_->limits.max_answer_bytes) {
            throw client_->speaker.error(
                "sent more than max_answer_bytes, which is " + std::to_string(client_->limits.max_answer_bytes),
                {.status = 200, .is_retryable = false, .retry_after = {}});
        }
        if (beginning_.size() < quote_limit) beginning_ += piece.substr(0, quote_limit - beginning_.size());
        parser_.feed(piece, [this](std::string_view name, std::string_view data) { reader_->take(name, data); });
    }
    /// Throws ModelError if there was a body without any event.
    void checkEvents(const HttpHead& head) const {
        const bool is_nothing = beginning_.find_first_not_of(" \t\r\n") == std::string::npos;
        if (parser_.hasSeenEvent() || is_nothing || beginning_.starts_with("data:") ||
            beginning_.starts_with("event:") || beginning_.starts_with(':')) {
            return;
        }
        throw client_->speaker.error("answered with something other than a stream of events (" +
                                         quoted(head.content_type, client_->speaker.secret, 100) +
                                         "): " + quoted(beginning_, client_->speaker.secret),
                                     {.status = 200, .is_retryable = false, .retry_after = {}});
    }

private:
    const HttpClient* client_;
    AnswerReader* reader_;
    SseParser parser_;
    std::string beginning_;
    std::size_t size_ = 0;
};

/// Reads the body of a refusal as far as it arrives.
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
    co_return refusal(client.speaker, head, body, std::chrono::system_clock::now());
}

/// Returns the next piece. It is empty at the end, or if the connection broke after the answer was complete.
Task<std::string> nextPiece(HttpStream& stream, const AnswerReader& reader) {
    try {
        std::string piece = co_await stream.read();
        co_return piece;
    } catch (const ModelError&) {
        if (!reader.isComplete()) throw;
    }
    co_return std::string();
}

Task<Reply> askOnce(const Provider& provider, std::shared_ptr<const std::string> body, Listener& listener,
                    Stopping& stopping, Clock::time_point deadline) {
    const HttpClient& client = *provider.client;
    HttpStream stream(provider.client, stopping, deadline);
    const HttpHead head = co_await stream.open(std::move(body));
    if (head.status != 200) {
        ModelError error = co_await refused(client, stream, head);
        throw ModelError(error);
    }
    const std::unique_ptr<AnswerReader> reader = provider.reader(client.speaker, listener);
    Body answer(client, *reader);
    while (!reader->isOver()) {
        if (reader->isComplete()) stream.hurry(grace);
        const std::string piece = co_await nextPiece(stream, *reader);
        if (piece.empty()) break;
        stopping.check();
        answer.take(piece);
    }
    stream.leave();
    if (!reader->isComplete()) answer.checkEvents(head);
    co_return reader->finish();
}

Task<Reply> askUntilItPasses(std::shared_ptr<const Provider> provider, Request request, const Asking& asking) {
    Stopping stopping(asking);
    stopping.check();
    const HttpOptions& limits = provider->client->limits;
    const Clock::time_point deadline = Clock::now() + limits.total_limit;
    const auto body = std::make_shared<const std::string>(provider->body(request));
    Listener listener(asking.tell);
    for (int attempts = 1;; ++attempts) {
        std::optional<ModelError> error;
        try {
            Reply reply = co_await askOnce(*provider, body, listener, stopping, deadline);
            co_return reply;
        } catch (const ModelError& failed) {
            error = failed;
        }
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
        std::optional<milliseconds> wait;
        if (!listener.hasHeard()) wait = waitBeforeRetry(*error, attempts, limits, left, randomFraction());
        if (!wait) {
            std::string text = error->what();
            if (attempts > 1) text += " (attempt " + std::to_string(attempts) + ")";
            throw ModelError(text, {.status = error->status(),
                                    .is_retryable = error->isRetryable(),
                                    .retry_after = error->retryAfter(),
                                    .is_exhausted = limits.max_retries > 0 && !listener.hasHeard()});
        }
        co_await pause(*wait, stopping);
    }
}

class HttpModel final : public Model {
public:
    explicit HttpModel(Provider provider) : provider_(std::make_shared<const Provider>(std::move(provider))) {}
    Task<Reply> ask(Request request, const Asking& asking) const override {
        return askUntilItPasses(provider_, std::move(request), asking);
    }

private:
    std::shared_ptr<const Provider> provider_;
};

}  // namespace

std::shared_ptr<const Model> httpModel(Provider provider) {
    return std::make_shared<const HttpModel>(std::move(provider));
}

}  // namespace stategraph::model::http
