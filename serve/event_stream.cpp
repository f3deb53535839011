#include "serve/event_stream.hpp"

#include <atomic>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stategraph/asio.hpp>

#include "serve/account.hpp"
#include "serve/await_end.hpp"
#include "serve/error_texts.hpp"

namespace stategraph::serve {

namespace {

// A response waits this long for more than the run's beginning, so that a run that is refused immediately is answered
// with the reason.
constexpr auto grace = std::chrono::milliseconds(250);
constexpr std::size_t batch_bytes = 16U << 10U;  // the size of text that is collected before it is sent

}  // namespace

/// Wakes the reader when its client has disconnected, and when a heartbeat is due. Used on the connection's strand.
struct EventStream::Watch : std::enable_shared_from_this<EventStream::Watch> {
    Watch(std::shared_ptr<Socket> watched, std::shared_ptr<stategraph::detail::SubscriptionImpl> woken,
          std::chrono::milliseconds every)
        : socket(std::move(watched)), reader(std::move(woken)), heartbeat(every), timer(socket->get_executor()) {}

    void begin() {
        watchTime(grace);
        watchClient();
    }
    void end() noexcept {
        if (std::exchange(is_ended, true)) return;
        timer.cancel();
        boost::system::error_code ignored;
        socket->socket().cancel(ignored);
    }
    void watchTime(std::chrono::milliseconds time) {
        timer.expires_after(time);
        timer.async_wait(Handler(shared_from_this()));
    }
    void watchClient() {
        const auto flags = asio::ip::tcp::socket::message_peek;
        socket->socket().async_receive(asio::buffer(&byte, 1), flags, Handler(shared_from_this()));
    }
    void beat() {
        if (!std::exchange(is_patient, false)) is_due = true;
        stategraph::detail::wakeReader(*reader);
        watchTime(heartbeat);
    }
    void leave() noexcept {
        has_gone = true;
        stategraph::detail::wakeReader(*reader);
    }

    /// If it is destroyed without having been called, nothing watches the client any more, and the client counts as
    /// disconnected.
    class Handler {
    public:
        explicit Handler(std::shared_ptr<Watch> watch) noexcept : watch_(std::move(watch)) {}
        Handler(Handler&&) noexcept = default;
        ~Handler() {
            if (watch_) watch_->leave();
        }
        void operator()(const boost::system::error_code& error) {  // called for the timer
            if (!error && !watch_->is_ended) watch_->beat();
            watch_.reset();
        }
        void operator()(const boost::system::error_code& error, std::size_t size) {  // called for the client
            const std::shared_ptr<Watch> watch = std::move(watch_);
            if (watch->is_ended || error == asio::error::operation_aborted) return;
            if (!error && size > 0) return;  // the client has sent the next request, which waits
            watch->leave();
        }

    private:
        std::shared_ptr<Watch> watch_;
    };

    std::shared_ptr<Socket> socket;
    std::shared_ptr<stategraph::detail::SubscriptionImpl> reader;
    std::chrono::milliseconds heartbeat;
    asio::steady_timer timer;
    char byte = 0;
    bool is_patient = true;
    bool is_due = false;
    std::atomic<bool> has_gone = false;
    bool is_ended = false;
};

EventStream::EventStream(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, Source source,
                         const Request& request)
    : shared_(std::move(shared)),
      socket_(std::move(socket)),
      source_(std::move(source)),
      encoder_(source_.protocol->encoder()),
      watch_(std::make_shared<Watch>(socket_, source_.subscription.impl(), shared_->options.heartbeat)),
      writer_(shared_, socket_, *source_.protocol, request),
      place_(shared_->streams, source_.subscription.impl()),
      events_(source_.takes_answers),
      own_(source_.run ? source_.whose : LookWhose()) {}

EventStream::~EventStream() {
    watch_->end();
    if (!has_ended_) leave();
}

void EventStream::leave() noexcept {
    if (source_.run && source_.endpoint->options().disconnect_cancels) source_.run->control()->requestStop();
}

asio::awaitable<bool> EventStream::run() {
    bool is_sent = false;
    std::exception_ptr failed;
    try {
        watch_->begin();
        is_sent = co_await tellAll();
    } catch (...) {
        failed = std::current_exception();
    }
    watch_->end();
    const bool is_left = !is_sent || watch_->has_gone;
    has_ended_ = true;
    if (is_left && !failed) leave();
    // After the head, an error can only end the connection; the client sees that the response broke off.
    if (failed && !is_head_sent_) std::rethrow_exception(failed);
    co_return !is_left && writer_.keeps() && !shared_->is_draining;
}

asio::awaitable<bool> EventStream::tellAll() {
    encoder_->open(std::exchange(source_.opening, {}), lines_);
    for (const std::string& line : lines_) writer_.add(line);
    bool has_more = co_await gather();
    if (wasRefused(has_more)) {
        if (source_.run) co_await awaitEnd(*source_.run, &watch_->has_gone);
        if (source_.run->error()) std::rethrow_exception(source_.run->error());
    }
    is_head_sent_ = true;
    bool is_sent = co_await writer_.writeHead();
    while (is_sent && !watch_->has_gone) {
        if (source_.run && (!has_more || has_told_end_)) co_await awaitEnd(*source_.run, &watch_->has_gone);
        if (!has_more) close();
        is_sent = co_await writer_.flush(is_over_);
        if (!has_more) break;
        has_more = co_await gather();
    }
    co_return is_sent;
}

/// Returns whether the run had no result but an error. Such an error is an answer of its own, and not a stream.
bool EventStream::wasRefused(bool has_more) const {
    if (!source_.run || has_told_ || watch_->has_gone) return false;
    return (closing_ && closing_->ending == Status::failed) || (!has_more && source_.run->error());
}

asio::awaitable<bool> EventStream::gather() {
    if (is_over_) co_return false;
    const auto executor = socket_->get_executor();
    for (;;) {
        std::optional<HubEvent> event;
        bool must_leave = mustLeave();
        if (!must_leave) event = co_await asyncNextOn(executor, source_.subscription);
        // The end of the run wakes a reader that may have looked for events just before they came.
        const bool has_failed = !event && source_.run && source_.run->hasFailed();
        // Such as a workflow that somebody else has ended meanwhile: there was nothing to run.
        const bool never_began = !event && source_.run && !events_.hasBegun() && source_.run->hasEnded();
        must_leave = !event && mustLeave();
        if (has_failed || never_began || must_leave) event = source_.subscription.next(std::chrono::milliseconds(0));
        if (event) {
            take(*event);
            // Events that already wait go into the same piece.
            while (!is_over_ && writer_.size() < batch_bytes && source_.subscription.waiting() > 0) {
                event = source_.subscription.next(std::chrono::milliseconds(0));
                if (!event) break;
                take(*event);
            }
            if (is_over_) co_return false;
            if (writer_.size() > 0 && (has_told_ || !watch_->is_patient)) co_return true;
            continue;
        }
        if (watch_->has_gone || source_.subscription.isClosed()) co_return false;
        if (has_failed) {
            closing_ = Closing{Status::failed, toldFailure(source_.run->error(), source_.error_text)};
            co_return false;
        }
        if (never_began) co_return false;
        if (must_leave) {
            if (!source_.run) closing_ = Closing{.ending = Status::drained};
            co_return false;
        }
        if (writer_.size() > 0) co_return true;
        if (std::exchange(watch_->is_due, false)) {
            writer_.addHeartbeat();
            co_return true;
        }
    }
}

void EventStream::take(const HubEvent& event) {
    if (is_over_) return;
    if (!own_.allows(event)) return;
    // A program may have deleted the thread, and another user begun it.
    const bool begins = event.mode == StreamMode::runs && !endOf(event) && (!source_.run || events_.hasBegun());
    if (begins && source_.whose && source_.whose() != Whose::own) {
        is_over_ = true;
        return;
    }
    if (event.mode != StreamMode::runs && event.interrupts.empty()) has_told_ = true;
    if (!events_.belongs(event) && source_.run) return;
    std::optional<HubEvent> changed = toldEvent(event, *source_.endpoint, source_.error_text);
    const HubEvent& told = changed ? *changed : event;
    if (const auto end = endOf(told)) {
        closing_ = Closing{end->ending, end->error};
        ended_at_ = end->checkpoint_id;
        is_over_ = endsWith(*end);
        has_told_end_ = true;
    }
    if (!tells(event.mode)) return;
    lines_.clear();
    encoder_->take(told, lines_);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        // A client that comes back from there has the whole event.
        const bool is_last = i + 1 == lines_.size();
        if (is_last && event.durable && writer_.isSse()) writer_.addPosition(event.position.toString());
        writer_.add(lines_[i]);
    }
}

bool EventStream::mustLeave() const {
    if (!shared_->is_draining) return false;
    return source_.run ? source_.run->hasEnded() : shared_->runs->size() == 0;
}

/// A subscription that ends with the run ends after the remaining events, which are the open questions.
bool EventStream::endsWith(const EndOfRun& end) const noexcept {
    if (!source_.run || source_.endpoint->options().close_on_suspend) return false;
    const bool waits =
        end.ending == Status::interrupted || end.ending == Status::sleeping || end.ending == Status::breakpoint;
    return !waits || shared_->is_draining;
}

/// The thread's status, for a client without events of a run's end: it connected later, or no run began.
Closing EventStream::missedEnd() const {
    if (events_.hasBegun()) return {};
    Closing closing{.ending = source_.endpoint->endingOf(source_.thread)};
    if (closing.ending == Status::failed) closing.error = "The run failed; the thread's state says why";
    return closing;
}

void EventStream::close() {
    lines_.clear();
    Closing closing = closing_ ? *closing_ : missedEnd();
    if (!source_.whose || source_.whose() == Whose::own)
        closing.account = accountAt(*source_.endpoint, *source_.protocol, source_.thread, ended_at_);
    encoder_->close(closing, lines_);
    for (const std::string& line : lines_) writer_.add(line);
    if (shared_->is_draining) writer_.addRetry();
    writer_.addLast();
    is_over_ = true;
}

}  // namespace stategraph::serve
