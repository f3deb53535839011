#include "serve/run_replay.hpp"

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stategraph/asio.hpp>

#include "serve/await_end.hpp"
#include "serve/error_texts.hpp"
#include "serve/event_writer.hpp"

namespace stategraph::serve {

namespace {

constexpr std::size_t replay_batch_bytes = 64U << 10U;
// How often a recorder reads a store again that fails.
constexpr int read_tries = 40;
constexpr std::chrono::milliseconds read_pause{250};

/// Returns a part of the protocol "ui" for a text that needs no escapes.
std::string errorPart(const char* text) { return R"({"type":"error","errorText":")" + std::string(text) + "\"}"; }

asio::awaitable<void> write(Recording& from, Replay& replay) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const std::unique_ptr<Encoder> encoder = from.protocol->encoder();
    RunEvents events(from.takes_answers);
    OwnEventsOnly own(from.whose);
    Closing closing;
    std::vector<std::string> lines;
    const auto add = [&] {
        for (const std::string& line : lines) replay.add(line);
        lines.clear();
    };
    encoder->open(from.opening, lines);
    add();
    int failures = 0;
    for (;;) {
        std::optional<HubEvent> event;
        bool has_read = false;
        try {
            event = co_await asyncNextOn(executor, from.subscription);
            has_read = true;
        } catch (const SaverError&) {  // the store may come back: the subscription is where it was
            if (++failures > read_tries) throw;
        }
        if (!has_read) {
            asio::steady_timer pause(executor, read_pause);
            boost::system::error_code ignored;
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
            continue;
        }
        failures = 0;
        // The end of the run wakes a reader that may have looked for events just before they came.
        const bool has_failed = !event && from.run->hasFailed();
        const bool never_began = !event && !events.hasBegun() && from.run->hasEnded();
        if (has_failed || never_began) event = from.subscription.next(std::chrono::milliseconds(0));
        if (!event) {
            if (from.subscription.isClosed()) break;
            if (has_failed) {
                closing = {Status::failed, toldFailure(from.run->error(), from.error_text)};
                break;
            }
            if (never_began) break;
            continue;
        }
        if (!own.allows(*event) || !events.belongs(*event)) continue;
        if (auto told = toldEvent(*event, *from.endpoint, from.error_text)) event = std::move(told);
        if (const auto end = endOf(*event)) closing = {end->ending, end->error};
        if (!from.protocol->modes.has(event->mode)) continue;
        encoder->take(*event, lines);
        add();
    }
    co_await awaitEnd(*from.run);
    encoder->close(closing, lines);
    add();
}

/// A client that reads a replay. Used on the socket's executor, except `wake`.
class ReplayReader final : public Replay::Reader, public std::enable_shared_from_this<ReplayReader> {
public:
    explicit ReplayReader(std::shared_ptr<Socket> socket)
        : socket_(std::move(socket)), timer_(socket_->get_executor()) {}

    void wake() noexcept override {
        if (is_waked_.exchange(true)) return;
        try {
            asio::post(socket_->get_executor(), [self = shared_from_this()] {
                self->is_waked_ = false;
                self->notify();
            });
        } catch (const std::exception&) {  // the reader looks again at the next heartbeat
            is_waked_ = false;
        }
    }
    void watchClient() {
        socket_->socket().async_receive(asio::buffer(&byte_, 1), asio::ip::tcp::socket::message_peek,
                                        Look(shared_from_this()));
    }
    /// Call it before the replay is read: what happens from now on ends the next `wait`.
    void beginReading() noexcept { has_news_ = false; }
    /// Waits until something has happened since `beginReading`, or for that long. Returns true if the time is over.
    asio::awaitable<bool> wait(std::chrono::milliseconds time) {
        if (has_news_) co_return false;
        timer_.expires_after(time);
        boost::system::error_code error;
        co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, error));
        co_return !error;
    }
    bool hasGone() const noexcept { return has_gone_; }
    void end() noexcept {
        if (std::exchange(is_ended_, true)) return;
        boost::system::error_code ignored;
        socket_->socket().cancel(ignored);
    }

private:
    /// The handler of `watchClient`. If it is destroyed without having been called, the client counts as disconnected.
    class Look {
    public:
        explicit Look(std::shared_ptr<ReplayReader> reader) noexcept : reader_(std::move(reader)) {}
        Look(Look&&) noexcept = default;
        ~Look() {
            if (reader_) reader_->has_gone_ = true;  // set on any thread, and seen at the next heartbeat
        }
        void operator()(const boost::system::error_code& error, std::size_t size) {
            const std::shared_ptr<ReplayReader> reader = std::move(reader_);
            if (reader->is_ended_ || (!error && size > 0)) return;  // the next request waits
            reader->has_gone_ = true;
            reader->notify();
        }

    private:
        std::shared_ptr<ReplayReader> reader_;
    };
    void notify() {
        has_news_ = true;
        timer_.cancel();
    }

    std::shared_ptr<Socket> socket_;
    asio::steady_timer timer_;
    std::atomic<bool> is_waked_ = false;
    bool has_news_ = false;
    std::atomic<bool> has_gone_ = false;
    bool is_ended_ = false;
    char byte_ = 0;
};

/// Returns false if not everything could be sent to the client.
asio::awaitable<bool> tellAll(const Shared& shared, EventWriter& writer, ReplayReader& reader, const Replay& replay,
                              Replay::Place place) {
    bool is_sent = co_await writer.writeHead();
    std::vector<std::string> lines;
    bool is_due = false;
    while (is_sent && !reader.hasGone()) {
        lines.clear();
        reader.beginReading();
        const Replay::State state = replay.read(place, replay_batch_bytes, lines);
        for (const std::string& line : lines) writer.add(line);
        if (lines.empty() && is_due) writer.addHeartbeat();
        if (const char* const reason = Replay::reasonOf(state)) writer.add(errorPart(reason));
        const bool is_last = state != Replay::State::open;
        if (is_last && shared.is_draining) writer.addRetry();
        if (is_last) writer.addLast();
        const bool has_more = !lines.empty();
        is_sent = co_await writer.flush(is_last);
        if (is_last) break;
        is_due = false;
        if (!has_more) is_due = co_await reader.wait(shared.options.heartbeat);
    }
    co_return is_sent;
}

/// Its destructor runs even if Asio destroys a coroutine without resuming it, as it does without memory.
struct EndsReplay {
    const std::shared_ptr<Replay>& replay;
    Replay::State state = Replay::State::failed;
    ~EndsReplay() { replay->end(state); }
};
struct EndsReader {
    const std::shared_ptr<ReplayReader>& reader;
    ~EndsReader() { reader->end(); }
};

/// Waits until the run has begun, or was refused.
asio::awaitable<Replay::State> awaitBegin(const Shared& shared, ReplayReader& reader, const Replay& replay) {
    for (;;) {
        reader.beginReading();
        const Replay::State state = replay.state();
        if (state != Replay::State::held || reader.hasGone()) co_return state;
        co_await reader.wait(shared.options.heartbeat);
    }
}

}  // namespace

asio::awaitable<void> record(Recording recording, std::shared_ptr<Replay> replay) {
    EndsReplay end{replay};
    Recording from = std::move(recording);
    try {
        co_await write(from, *replay);
        end.state = Replay::State::ended;
    } catch (const std::exception&) {  // clients that reconnect get the failure
    }
}

asio::awaitable<Replayed> replay(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket,
                                 const Protocol& protocol, std::shared_ptr<ActiveRun> run, const Request& request) {
    EventWriter writer(shared, socket, protocol, request);
    const Streams::Place open(shared->streams);
    const auto reader = std::make_shared<ReplayReader>(socket);
    const Replay::Place place = run->replay()->join(reader);
    const EndsReader end{reader};
    bool is_sent = false;
    try {
        reader->watchClient();
        const Replay::State state = co_await awaitBegin(*shared, *reader, *run->replay());
        if (state == Replay::State::not_begun) co_return Replayed::nothing;
        is_sent = co_await tellAll(*shared, writer, *reader, *run->replay(), place);
    } catch (const std::exception&) {  // the client sees that the response broke off
    }
    const bool is_whole = is_sent && !reader->hasGone();
    co_return is_whole&& writer.keeps() && !shared->is_draining ? Replayed::all : Replayed::broken;
}

}  // namespace stategraph::serve
