#include <stategraph/worker_main.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include <pthread.h>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>
#include <stategraph/value.hpp>

#include "src/value/times.hpp"
#include "worker/arguments.hpp"
#include "worker/keeper.hpp"

// A worker as a program: signals, and what it prints.
namespace stategraph {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int wrong_arguments = 2;
constexpr int has_failed = 3;

/// Lines of several threads, each whole.
class Lines {
public:
    explicit Lines(std::ostream& stream) : stream_(stream) {}
    void print(const std::string& line) SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        stream_ << line << std::endl;  // another program may read along
    }

private:
    detail::Mutex mutex_;
    std::ostream& stream_;
};

std::string toJson(const std::string& name, const WorkerMetrics& metrics) {
    std::ostringstream text;
    text << R"({"worker":)" << Value(name).toJson();
    const auto member = [&](const char* called, std::uint64_t number) { text << ",\"" << called << "\":" << number; };
    member("finished", metrics.finished);
    member("waiting", metrics.waiting);
    member("sleeping", metrics.sleeping);
    member("retried", metrics.retried);
    member("set_aside", metrics.set_aside);
    member("refused", metrics.refused);
    member("cancelled", metrics.cancelled);
    member("given_back", metrics.given_back);
    member("leases_lost", metrics.leases_lost);
    member("claimed", metrics.claimed);
    member("claims", metrics.claims);
    member("woken", metrics.woken);
    member("renewals", metrics.renewals);
    member("errors", metrics.errors);
    member("running", metrics.running);
    text << '}';
    return text.str();
}

/// SIGTERM and SIGINT, which threads that are started meanwhile do not get, until it is destroyed.
class BlockedSignals {
public:
    BlockedSignals() {
        sigemptyset(&signals_);
        sigaddset(&signals_, SIGTERM);
        sigaddset(&signals_, SIGINT);
        ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;
    ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    const sigset_t& set() const noexcept { return signals_; }

private:
    sigset_t signals_;
    sigset_t before_;
};

/// Waits for the signals on a thread of its own, and prints metrics meanwhile, until it is destroyed.
class Signals {
public:
    Signals(Worker& worker, const workers::Arguments& arguments, const sigset_t& signals, Lines& out)
        : worker_(worker), arguments_(arguments), signals_(signals), out_(out), thread_([this] { wait(); }) {}
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
    ~Signals() {
        is_over_ = true;
        thread_.join();
    }

private:
    void wait() {
        constexpr milliseconds look_each(100);  // whether the worker has ended by itself
        Clock::time_point next = Clock::now() + arguments_.metrics.value_or(milliseconds(0));
        while (!is_over_) {
            milliseconds time = look_each;
            if (arguments_.metrics) time = std::min(time, std::chrono::ceil<milliseconds>(next - Clock::now()));
            if (is_stopping_)
                std::this_thread::sleep_for(time);
            else if (hasSignal(time))
                stop();
            if (!arguments_.metrics || Clock::now() < next) continue;
            next = Clock::now() + *arguments_.metrics;
            out_.print(toJson(arguments_.worker.name, worker_.metrics()));
        }
    }
    bool hasSignal(milliseconds time) const {
        const auto left = std::max<std::int64_t>(time.count(), 0);
        const timespec wait{.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1'000'000};
        return ::sigtimedwait(&signals_, nullptr, &wait) > 0;
    }
    // The next one of them does what it does to any program.
    void stop() {
        is_stopping_ = true;
        worker_.stop();
        ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    }

    Worker& worker_;
    const workers::Arguments& arguments_;
    const sigset_t signals_;
    Lines& out_;
    bool is_stopping_ = false;  // of the thread alone
    std::atomic<bool> is_over_{false};
    std::thread thread_;
};

std::string textOf(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "an error of an unknown type";
    }
}

std::string now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return times::toIso(std::chrono::duration_cast<std::chrono::microseconds>(since).count(), 3);
}

// What happens to a thread next, after an error.
std::string nextOf(const WorkerEvent& event) {
    if (!event.outcome) return "its lease is lost; another worker has it, or takes it when it asks";
    switch (*event.outcome) {
        case WorkOutcome::retry:
            return "it is tried again in " + times::textOf(event.delay);
        case WorkOutcome::set_aside:
            return "it is set aside until 'stategraph queue retry'";
        case WorkOutcome::refused:
            return "it waits for a worker with another version of the graph";
        default:
            return "it goes on";
    }
}

std::string lineOf(const WorkerEvent& event, int attempts_max) {
    std::string line = now() + " thread '" + event.thread_id + "' of graph '" + event.graph + "', attempt " +
                       std::to_string(event.attempts) + " of " + std::to_string(attempts_max) + ": ";
    if (!event.error.empty()) line += event.error + "; ";
    return line + nextOf(event);
}

// In addition to what the program's own functions do.
void tell(WorkerOptions& options, Lines& error) {
    options.on_error = [own = options.on_error, &error](const std::exception_ptr& what) {
        error.print(now() + " the queue cannot be reached: " + textOf(what));
        if (own) own(what);
    };
    options.on_left = [own = options.on_left, most = options.attempts_max, &error](const WorkerEvent& event) {
        if (!event.error.empty() || !event.outcome) error.print(lineOf(event, most));
        if (own) own(event);
    };
}

void work(workers::Arguments& arguments, const AddGraphs& addGraphs, std::ostream& out, std::ostream& error) {
    const BlockedSignals blocked;
    Lines out_lines(out);
    Lines error_lines(error);
    tell(arguments.worker, error_lines);
    const auto saver =
        std::make_shared<LeasedSaver>(std::make_shared<PostgresSaver>(arguments.database, arguments.saver));
    if (arguments.worker.name.empty()) arguments.worker.name = workers::ownName();
    Worker worker(saver, arguments.worker);
    addGraphs(worker, saver);
    {
        const Signals waiting(worker, arguments, blocked.set(), out_lines);
        worker.run();
    }
    if (arguments.metrics) out_lines.print(toJson(arguments.worker.name, worker.metrics()));
}

}  // namespace

int workerMain(int argc, const char* const* argv, const AddGraphs& addGraphs, const WorkerMainOptions& options) {
    std::ostream& out = options.out ? *options.out : std::cout;
    std::ostream& error = options.error ? *options.error : std::cerr;
    const std::string program = argc > 0 ? argv[0] : "worker";
    try {
        const std::span<const char* const> words(argv, static_cast<std::size_t>(std::max(argc, 0)));
        workers::Arguments arguments = workers::readArguments(words.subspan(words.empty() ? 0 : 1), options);
        if (arguments.wants_help) {
            out << workers::argumentsHelp();
            return 0;
        }
        work(arguments, addGraphs, out, error);
        return 0;
    } catch (const workers::UsageError& wrong) {
        error << program << ": " << wrong.what() << "; --help lists the options\n";
        return wrong_arguments;
    } catch (const InvalidArgumentError& wrong) {
        error << program << ": " << wrong.what() << '\n';
        return wrong_arguments;
    } catch (const std::exception& failed) {
        error << program << ": " << failed.what() << '\n';
        return has_failed;
    }
}

}  // namespace stategraph
