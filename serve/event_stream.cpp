#include "serve/event_stream.hpp"

#include <charconv>
#include <optional>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <stategraph/asio.hpp>

namespace stategraph::serve {

namespace {

// How long a response waits for more than the run's beginning, so that a run that is refused at once is answered with
// what it was refused for.
constexpr auto grace = std::chrono::milliseconds(250);
constexpr std::size_t batch_bytes = 16U << 10U;  // of text, before it is sent

bool wantsSse(const Request& request) {
    const std::string_view accept = request[http::field::accept];
    return accept.find("text/event-stream") != std::string_view::npos;
}

}  // namespace

/// Wakes the reader when its client has gone, and when it is time to say that the response is alive. On the
/// connection's strand.
struct EventStream::Watch : std::enable_shared_from_this<EventStream::Watch> {
    Watch(std::shared_ptr<Socket> watched, std::shared_ptr<stategraph::detail::SubscriptionImpl> woken,
          std::chrono::milliseconds every)
        : socket(std::move(watched)), reader(std::move(woken)), heartbeat(every), timer(socket->get_executor()) {}

    void begin() {
        timer.expires_after(grace);
        timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
            if (error || self->is_ended) return;
            self->is_patient = false;
            stategraph::detail::wakeReader(*self->reader);
            self->watchTime();
        });
        watchClient();
    }
    void end() {
        is_ended = true;
        timer.cancel();
        boost::system::error_code ignored;
        socket->socket().cancel(ignored);
    }
    void watchTime() {
        timer.expires_after(heartbeat);
        timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
            if (error || self->is_ended) return;
            self->is_due = true;
            stategraph::detail::wakeReader(*self->reader);
            self->watchTime();
        });
    }
    void watchClient() {
        const auto flags = asio::ip::tcp::socket::message_peek;
        const auto look = [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
            if (self->is_ended || error == asio::error::operation_aborted) return;
            if (!error && size > 0) return;  // the next request, which waits
            self->has_gone = true;
            stategraph::detail::wakeReader(*self->reader);
        };
        socket->socket().async_receive(asio::buffer(&byte, 1), flags, look);
    }

    std::shared_ptr<Socket> socket;
    std::shared_ptr<stategraph::detail::SubscriptionImpl> reader;
    std::chrono::milliseconds heartbeat;
    asio::steady_timer timer;
    char byte = 0;
    bool is_patient = true;
    bool is_due = false;
    bool has_gone = false;
    bool is_ended = false;
};

EventStream::EventStream(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, Source source,
                         const Request& request)
    : shared_(std::move(shared)),
      socket_(std::move(socket)),
      source_(std::move(source)),
      encoder_(source_.protocol->encoder()),
      watch_(std::make_shared<Watch>(socket_, source_.subscription.impl(), shared_->options.heartbeat)),
      is_sse_(source_.protocol->only_sse || wantsSse(request)),
      is_chunked_(request.version() >= 11),
      keeps_(is_chunked_ && request.keep_alive()) {}

asio::awaitable<bool> EventStream::run() {
    watch_->begin();
    bool is_sent = false;
    std::exception_ptr failed;
    try {
        is_sent = co_await tellAll();
    } catch (...) {
        failed = std::current_exception();
    }
    watch_->end();
    const bool is_left = !is_sent || watch_->has_gone;
    if (source_.run && is_left && !failed && source_.endpoint->options().disconnect_cancels) {
        source_.run->control()->requestStop();
    }
    // After the head an error can only end the connection: the client sees that the response broke off.
    if (failed && !is_head_sent_) std::rethrow_exception(failed);
    co_return !is_left && keeps_ && !shared_->is_draining;
}

asio::awaitable<bool> EventStream::tellAll() {
    encoder_->open(lines_);
    for (const std::string& line : lines_) addLine(line, text_);
    bool has_more = co_await gather();
    if (wasRefused(has_more)) {
        co_await awaitEnd();
        if (source_.run->error()) std::rethrow_exception(source_.run->error());
    }
    is_head_sent_ = true;
    bool is_sent = co_await writeHead();
    while (is_sent && !watch_->has_gone) {
        if (!has_more) {
            co_await awaitEnd();
            close();
        }
        const std::string text = framed();
        text_.clear();
        if (!text.empty()) is_sent = co_await write(text);
        if (!has_more) break;
        has_more = co_await gather();
    }
    co_return is_sent;
}

/// Whether the run came to nothing but an error: that is an answer of its own, and no stream.
bool EventStream::wasRefused(bool has_more) const {
    if (!source_.run || has_told_ || watch_->has_gone) return false;
    return closing_.ending == Ending::failed || (!has_more && source_.run->error());
}

/// A run whose end was told is known as under way for some microseconds more: who has the whole response may begin the
/// next one.
asio::awaitable<void> EventStream::awaitEnd() {
    asio::steady_timer wait(socket_->get_executor());
    for (int left = 5000; left > 0 && source_.run && !source_.run->hasEnded() && !watch_->has_gone; --left) {
        wait.expires_after(std::chrono::milliseconds(1));
        boost::system::error_code ignored;
        co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
}

asio::awaitable<bool> EventStream::gather() {
    if (is_over_) co_return false;
    const auto executor = socket_->get_executor();
    for (;;) {
        std::optional<HubEvent> event = co_await asyncNextOn(executor, source_.subscription);
        if (event) {
            take(*event);
            // What waits already goes into the same piece.
            while (!is_over_ && text_.size() < batch_bytes && source_.subscription.waiting() > 0) {
                event = source_.subscription.next(std::chrono::milliseconds(0));
                if (!event) break;
                take(*event);
            }
            if (is_over_) co_return false;
            if (!text_.empty() && (has_told_ || !watch_->is_patient)) co_return true;
            continue;
        }
        if (watch_->has_gone || source_.subscription.isClosed()) co_return false;
        if (source_.run && source_.run->hasEnded() && source_.run->error()) {
            closing_ = {Ending::failed, failureOf(source_.run->error()).text};
            co_return false;
        }
        if (!text_.empty()) co_return true;
        if (std::exchange(watch_->is_due, false)) {
            text_ += is_sse_ ? ": \n\n" : "\n";
            co_return true;
        }
    }
}

void EventStream::take(const HubEvent& event) {
    if (event.mode == StreamMode::runs) has_begun_ = true;
    if (event.mode != StreamMode::runs && event.interrupts.empty()) has_told_ = true;
    // What is open before the run that the request began is what it answers.
    const bool is_early = source_.takes_answers || !has_begun_;
    if (source_.run && is_early && event.mode != StreamMode::runs && !event.interrupts.empty()) return;
    if (const auto end = endOf(event)) {
        closing_ = {end->ending, end->error};
        is_over_ = endsWith(*end);
    }
    if (!tells(event.mode)) return;
    lines_.clear();
    encoder_->take(event, lines_);
    const std::string position = is_sse_ && event.durable ? "id: " + event.position.toString() + "\n" : std::string();
    for (const std::string& line : lines_) {
        text_ += position;
        addLine(line, text_);
    }
}

/// A subscription that ends with the run ends by itself, behind what is still to be told: the questions that are open.
bool EventStream::endsWith(const EndOfRun& end) const noexcept {
    if (!source_.run || source_.endpoint->options().close_on_suspend) return false;
    const bool waits =
        end.ending == Ending::interrupted || end.ending == Ending::sleeping || end.ending == Ending::breakpoint;
    return !waits || shared_->is_draining;
}

void EventStream::close() {
    lines_.clear();
    encoder_->close(closing_, lines_);
    for (const std::string& line : lines_) addLine(line, text_);
    if (is_sse_ && !source_.protocol->last_data.empty()) addLine(source_.protocol->last_data, text_);
    is_over_ = true;
}

void EventStream::addLine(const std::string& line, std::string& text) const {
    if (is_sse_) text += "data: ";
    text += line;
    text += is_sse_ ? "\n\n" : "\n";
}

std::string EventStream::framed() const {
    std::string out;
    if (is_chunked_ && !text_.empty()) {
        char size[16];
        const auto end = std::to_chars(size, size + sizeof size, text_.size(), 16).ptr;
        out.append(size, end).append("\r\n").append(text_).append("\r\n");
    } else {
        out = text_;
    }
    if (is_chunked_ && is_over_) out += "0\r\n\r\n";
    return out;
}

asio::awaitable<bool> EventStream::writeHead() {
    http::response<http::empty_body> head(http::status::ok, is_chunked_ ? 11 : 10);
    head.set(http::field::content_type,
             is_sse_ ? "text/event-stream; charset=utf-8" : "application/x-ndjson; charset=utf-8");
    head.set(http::field::cache_control, "no-cache, no-transform");
    head.set("X-Accel-Buffering", "no");
    head.set("X-Content-Type-Options", "nosniff");
    if (!shared_->options.allow_origin.empty())
        head.set(http::field::access_control_allow_origin, shared_->options.allow_origin);
    for (const auto& [name, value] : source_.protocol->headers) head.set(name, value);
    head.keep_alive(keeps_);
    if (is_chunked_) head.chunked(true);
    http::response_serializer<http::empty_body> serializer(head);
    socket_->expires_after(shared_->options.write_timeout);
    auto [error, size] = co_await http::async_write_header(*socket_, serializer, asio::as_tuple(asio::use_awaitable));
    socket_->expires_never();
    co_return !error;
}

asio::awaitable<bool> EventStream::write(const std::string& text) {
    socket_->expires_after(shared_->options.write_timeout);
    auto [error, size] = co_await asio::async_write(*socket_, asio::buffer(text), asio::as_tuple(asio::use_awaitable));
    socket_->expires_never();
    co_return !error;
}

}  // namespace stategraph::serve
