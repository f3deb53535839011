#include "model/http/http_model.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include <stategraph/error.hpp>

#include "model/http/exchange.hpp"
#include "model/http/http_stream.hpp"
#include "model/http/repeated.hpp"
#include "model/http/sse_parser.hpp"
#include "model/http/stopping.hpp"
#include "model/http/text.hpp"

namespace stategraph::model::http {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Limits the wait for what follows a complete answer: its token usage, and the end.
constexpr milliseconds grace = std::chrono::seconds(5);

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
    const Clock::time_point deadline = Clock::now() + provider->client->limits.total_limit;
    const auto body = std::make_shared<const std::string>(provider->body(request));
    Listener listener(asking.tell);
    const std::function<Task<Reply>()> once = [&] { return askOnce(*provider, body, listener, stopping, deadline); };
    const std::function<bool()> may_repeat = [&] { return !listener.hasHeard(); };
    Task<Reply> asked = repeated(*provider->client, stopping, deadline, once, may_repeat);
    Reply reply = co_await std::move(asked);
    co_return reply;
}

class HttpModel final : public Model {
public:
    explicit HttpModel(Provider provider) : provider_(std::make_shared<const Provider>(std::move(provider))) {}
    Task<Reply> ask(Request request, const Asking& asking) const override {
        return askUntilItPasses(provider_, std::move(request), asking);
    }
    ModelName name() const override {
        const Url& url = provider_->client->url;
        return {
            .provider = provider_->called, .model = provider_->model, .host = url.host, .port = std::stoi(url.port)};
    }

private:
    std::shared_ptr<const Provider> provider_;
};

}  // namespace

std::shared_ptr<const Model> httpModel(Provider provider) {
    return std::make_shared<const HttpModel>(std::move(provider));
}

}  // namespace stategraph::model::http
