#include "tests/support/drivers.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <type_traits>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <stategraph/asio.hpp>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/detail/run_threads.hpp>
#include <stategraph/encoding.hpp>

#include "tests/support/hand_home.hpp"
#include "tests/support/sanitized.hpp"

namespace drivers {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using Events = std::vector<sg::StreamEvent>;

const sg::StreamOptions told{.modes = {sg::StreamMode::values, sg::StreamMode::updates}};
// Tasks run at the same time as the reader.
const sg::StreamOptions everything{.modes = {sg::StreamMode::values, sg::StreamMode::updates, sg::StreamMode::tasks,
                                             sg::StreamMode::checkpoints, sg::StreamMode::debug, sg::StreamMode::custom,
                                             sg::StreamMode::messages, sg::StreamMode::runs, sg::StreamMode::calls},
                                   .subgraphs = true};

void keep(sg::RunOutcome outcome, Ended& ended) { static_cast<sg::RunOutcome&>(ended) = std::move(outcome); }
template <class F>
Ended caught(F f) {
    Ended ended;
    try {
        f(ended);
    } catch (...) {
        ended.error = std::current_exception();
    }
    return ended;
}

// ------------------------------------------------------------------------------------------------------------ blocking
Ended invoke(const Call& call, Ending) {
    return caught([&](Ended& ended) {
        sg::detail::invoke(*call.core, sg::detail::RunInput(call.input), call.config, ended, call.values);
    });
}

template <const sg::StreamOptions& options>
Ended range(const Call& call, Ending) {
    return caught([&](Ended& ended) {
        sg::detail::StreamRun run(call.core, call.input, call.config, options);
        for (run.advance(); run.event() != nullptr; run.advance()) ended.events.push_back(*run.event());
        keep(run.takeOutcome(call.values), ended);
    });
}
template <const sg::StreamOptions& options>
bool leaveRange(const Call& call, Ending, const Leave& leave) {
    try {
        sg::detail::StreamRun run(call.core, call.input, call.config, options);
        for (std::size_t step = 0; step < leave.steps && !(leave.when && leave.when()); ++step) {
            run.advance();
            if (run.event() == nullptr) return true;
        }
        return false;
    } catch (...) {
        return true;
    }
}

Ended callback(const Call& call, Ending) {
    struct Sink final : sg::detail::EventSink {
        Events events;
        void take(sg::StreamEvent&& event) override { events.push_back(std::move(event)); }
    } sink;
    Ended ended = caught([&](Ended& kept) {
        keep(sg::detail::run(*call.core, call.input, call.config, everything, sink, call.values), kept);
    });
    ended.events = std::move(sink.events);
    return ended;
}

// ------------------------------------------------------------------------------------------------------------- awaited
/// As asyncInvoke makes one. `ended` must outlive it.
sg::Task<> task(const Call& call, const sg::RunConfig& config, Ended& ended) {
    const auto drive = [](sg::detail::Owned<sg::detail::AsyncRun> run, sg::RunOutcome& outcome,
                          void* values) -> sg::Task<> { co_await run->drive(outcome, values); };
    return drive(sg::detail::Owned(new sg::detail::AsyncRun(call.core, sg::detail::RunInput(call.input), config)),
                 ended, call.values);
}
/// Reads the events as asyncStream does.
sg::Task<> reads(sg::detail::AsyncStreamRun& run, void* values, Ended& ended) {
    while (auto event = co_await run.next()) ended.events.push_back(std::move(*event));
    keep(run.takeOutcome(values), ended);
}

Ended awaited(const Call& call, Ending) {
    return caught([&](Ended& ended) { sg::syncWait(task(call, call.config, ended)); });
}
Ended spawned(const Call& call, Ending) {
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 2});
    return caught([&](Ended& ended) { sg::spawn(executor, task(call, call.config, ended)).get(); });
}
// As a worker does it: a node that can be abandoned is called on the thread that drives its run.
Ended onRunThreads(const Call& call, Ending) {
    return caught([&](Ended& ended) {
        std::exception_ptr error;
        const auto keeping = [](sg::Task<> given, std::exception_ptr& thrown) -> sg::Task<> {
            try {
                co_await std::move(given);
            } catch (...) {
                thrown = std::current_exception();
            }
        };
        sg::detail::RunThreads threads(2, 64);
        threads.open();
        threads.run(keeping(task(call, call.config, ended), error));
        threads.join();
        if (error) std::rethrow_exception(error);
    });
}
template <const sg::StreamOptions& options>
Ended awaitedStream(const Call& call, Ending) {
    return caught([&](Ended& ended) {
        sg::detail::AsyncStreamRun run(call.core, sg::detail::RunInput(call.input), call.config, options);
        sg::syncWait(reads(run, call.values, ended));
    });
}

/// Drives `task` until it is finished or is to be abandoned.
bool drives(HandHome& home, sg::Task<> task, const Leave& leave, std::size_t& step) {
    bool is_over = false;
    const auto ends = [](void* over) { *static_cast<bool*>(over) = true; };
    task.handle().promise().startWith(task.handle(), ends, &is_over, home.home());
    while (!is_over) {
        if (step >= leave.steps || (leave.when && leave.when())) return false;
        if (home.runOne(1ms)) ++step;
    }
    return true;
}
bool leaveAwaited(const Call& call, Ending, const Leave& leave) {
    HandHome home;
    Ended ended;
    std::size_t step = 0;
    return drives(home, task(call, call.config, ended), leave, step);
}
// Abandons the stream between two events or while it awaits the next one.
template <const sg::StreamOptions& options>
bool leaveAwaitedStream(const Call& call, Ending, const Leave& leave) {
    HandHome home;
    sg::detail::AsyncStreamRun run(call.core, sg::detail::RunInput(call.input), call.config, options);
    std::size_t read = 0;
    bool is_over = false;
    const auto readsOne = [](sg::detail::AsyncStreamRun& from, bool& over) -> sg::Task<> {
        try {
            const auto event = co_await from.next();
            over = !event;
        } catch (...) {
            over = true;
        }
    };
    while (!is_over && read < leave.steps) {
        std::size_t step = 0;
        if (!drives(home, readsOne(run, is_over), {.when = leave.when}, step)) return false;
        ++read;
        if (!is_over && leave.when && leave.when()) return false;
    }
    return is_over;
}

// ------------------------------------------------------------------------------------------------------------- on Asio
/// An execution context, and a run that is awaited in it.
class OnAsio {
public:
    template <class Start>
    explicit OnAsio(Ending ending, Start start) {
        auto ends = [this](std::exception_ptr error) {
            is_over_ = true;
            error_ = std::move(error);
        };
        if (ending == Ending::stoppable) {
            asio::co_spawn(context_, start(context_.get_executor()),
                           asio::bind_cancellation_slot(signal_.slot(), ends));
        } else {
            asio::co_spawn(context_, start(context_.get_executor()), ends);
        }
    }
    void run() {
        context_.run();
        if (error_) std::rethrow_exception(error_);
    }
    /// Returns whether the run ended before it was to be abandoned.
    bool runUntil(const Leave& leave) {
        for (std::size_t step = 0; !is_over_;) {
            if (step >= leave.steps || (leave.when && leave.when())) return false;
            step += context_.run_one_for(1ms);
            context_.restart();
        }
        return true;
    }

private:
    bool is_over_ = false;
    std::exception_ptr error_;
    asio::cancellation_signal signal_;
    asio::io_context context_{1};
};

asio::awaitable<void> invokes(asio::any_io_executor executor, const Call& call, Ended& ended) {
    // Returns a value rather than void, like the library's asyncInvokeOn.
    auto make = [&call, &ended](const sg::RunConfig& config) {
        const auto withValue = [](sg::Task<> run) -> sg::Task<int> {
            co_await std::move(run);
            co_return 0;
        };
        return withValue(task(call, config, ended));
    };
    (void)co_await sg::detail::awaitRun(executor, make, call.config);
}
auto startsInvoke(const Call& call, Ended& ended) {
    return [&call, &ended](asio::any_io_executor executor) { return invokes(std::move(executor), call, ended); };
}
Ended invokeOnAsio(const Call& call, Ending ending) {
    return caught([&](Ended& ended) { OnAsio(ending, startsInvoke(call, ended)).run(); });
}
bool leaveInvokeOnAsio(const Call& call, Ending ending, const Leave& leave) {
    Ended ended;
    return OnAsio(ending, startsInvoke(call, ended)).runUntil(leave);
}

asio::awaitable<void> readsOnAsio(asio::any_io_executor executor, sg::detail::AsyncStreamRun& run, void* values,
                                  Ended& ended) {
    for (;;) {
        auto event = co_await sg::awaitOn(executor, run.next());
        if (!event) break;
        ended.events.push_back(std::move(*event));
    }
    keep(run.takeOutcome(values), ended);
}
auto startsStream(sg::detail::AsyncStreamRun& run, void* values, Ended& ended) {
    return [&run, values, &ended](asio::any_io_executor executor) {
        return readsOnAsio(std::move(executor), run, values, ended);
    };
}
Ended streamOnAsio(const Call& call, Ending) {
    return caught([&](Ended& ended) {
        sg::detail::AsyncStreamRun run(call.core, sg::detail::RunInput(call.input), call.config, told);
        OnAsio(Ending::plain, startsStream(run, call.values, ended)).run();
    });
}
bool leaveStreamOnAsio(const Call& call, Ending, const Leave& leave) {
    Ended ended;
    sg::detail::AsyncStreamRun run(call.core, sg::detail::RunInput(call.input), call.config, told);
    return OnAsio(Ending::plain, startsStream(run, call.values, ended)).runUntil(leave);
}

// Like asyncStreamOn: its tasks run on the executor at the same time as the reader.
asio::awaitable<void> readsAllOnAsio(asio::any_io_executor executor, const Call& call, Ended& ended) {
    struct Stream final : sg::detail::AsioEvents {
        using AsioEvents::AsioEvents;
        using AsioEvents::run;
    } stream(std::make_unique<sg::detail::AsioStreamRun>(executor, call.core, sg::detail::RunInput(call.input),
                                                         call.config, everything));
    for (;;) {
        auto event = co_await stream.next();
        if (!event) break;
        ended.events.push_back(std::move(*event));
    }
    keep(stream.run().takeOutcome(call.values), ended);
}
auto startsStreamOn(const Call& call, Ended& ended) {
    return [&call, &ended](asio::any_io_executor executor) { return readsAllOnAsio(std::move(executor), call, ended); };
}
Ended streamAllOnAsio(const Call& call, Ending ending) {
    return caught([&](Ended& ended) { OnAsio(ending, startsStreamOn(call, ended)).run(); });
}
bool leaveStreamAllOnAsio(const Call& call, Ending ending, const Leave& leave) {
    Ended ended;
    return OnAsio(ending, startsStreamOn(call, ended)).runUntil(leave);
}

const char* nameOf(Ending ending) {
    switch (ending) {
        case Ending::stoppable:
            return ", can be stopped";
        case Ending::timed:
            return ", has a timeout";
        case Ending::plain:
            break;
    }
    return "";
}

}  // namespace

std::string Ended::what() const {
    try {
        if (error) std::rethrow_exception(error);
    } catch (const std::exception& found) {
        return found.what();
    } catch (...) {
        return "something that is no exception";
    }
    return {};
}

sg::RunConfig Driver::withEnding(sg::RunConfig config) const {
    if (ending == Ending::timed && !config.timeout) config.timeout = 10min;
    const bool has_slot = run_ == invokeOnAsio || run_ == streamAllOnAsio;
    if (ending == Ending::stoppable && !has_slot && config.control == nullptr)
        config.control = std::make_shared<sg::RunControl>();
    return config;
}

const std::vector<Driver>& all() {
    static const std::vector<Driver> made{
        {"invoke", invoke, nullptr},
        {"stream as a range", range<told>, leaveRange<told>},
        {"stream of everything as a range", range<everything>, leaveRange<everything>},
        {"stream of everything with a callback", callback, nullptr},
        {"asyncInvoke", awaited, leaveAwaited},
        {"asyncInvoke spawned", spawned, nullptr},
        {"asyncInvoke in a worker", onRunThreads, nullptr},
        {"asyncStream", awaitedStream<told>, leaveAwaitedStream<told>},
        {"asyncStream of everything", awaitedStream<everything>, leaveAwaitedStream<everything>},
        {"asyncInvoke on Asio", invokeOnAsio, leaveInvokeOnAsio},
        {"asyncStream on Asio", streamOnAsio, leaveStreamOnAsio},
        {"asyncStreamOn of everything", streamAllOnAsio, leaveStreamAllOnAsio},
    };
    return made;
}

const std::vector<Driver>& crossed() {
    static const std::vector<Driver> made = [] {
        std::vector<Driver> drivers;
        for (const Ending ending : {Ending::plain, Ending::stoppable, Ending::timed}) {
            for (Driver driver : all()) {
                driver.ending = ending;
                driver.name += nameOf(ending);
                drivers.push_back(std::move(driver));
            }
        }
        return drivers;
    }();
    return made;
}

const std::vector<Driver>& affordable() {
#if STATEGRAPH_WITH_ASAN || STATEGRAPH_WITH_TSAN
    static const std::vector<Driver> made = [] {
        std::vector<Driver> drivers;
        const std::size_t count = all().size();
        for (std::size_t i = 0; i < count; ++i) drivers.push_back(crossed()[i % 3 * count + i]);
        return drivers;
    }();
    return made;
#else
    return crossed();
#endif
}

const Driver& blocking() { return all().front(); }

}  // namespace drivers
