#include <stategraph/progress.hpp>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <ostream>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include <stategraph/command.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>

#include "src/observers/progress_line.hpp"

namespace stategraph {
namespace {

using Clock = std::chrono::steady_clock;
using progress::Counts;

constexpr std::size_t runs_max = 1024;
constexpr std::size_t usual_width = 80;

bool canRedraw(int fd) noexcept {
    if (isatty(fd) == 0) return false;
    const char* const kind = std::getenv("TERM");
    return kind == nullptr || std::string_view(kind) != "dumb";
}

std::int64_t nsSince(Clock::time_point then) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - then).count();
}

// A run, and its current superstep.
struct Watched {
    std::uint64_t root = 0;
    bool is_open = false;     // whether it is in a superstep
    bool is_counted = false;  // whether that is another superstep than START's
    std::uint64_t superstep = 0;
    Counts counts;
    Clock::time_point since;
};

// A run of the root graph, with all runs inside it.
struct Total {
    Counts counts;
    Clock::time_point since;
};

}  // namespace

struct ProgressBar::Impl {
    ProgressOptions options;
    bool draws = false;  // whether the line is drawn
    detail::Mutex mutex;
    std::map<std::uint64_t, Watched> runs SG_GUARDED_BY(mutex);
    std::map<std::uint64_t, Total> totals SG_GUARDED_BY(mutex);  // by root run
    std::string drawn SG_GUARDED_BY(mutex);                      // empty if no line is open
    Clock::time_point drawn_at SG_GUARDED_BY(mutex) = {};

    explicit Impl(const ProgressOptions& given) : options(given) {
        options.label = progress::cleaned(options.label);
        draws = options.style == ProgressStyle::line ||
                (options.style == ProgressStyle::automatic && options.out == nullptr && canRedraw(options.fd));
    }

    // Returns whether nothing is ever shown.
    bool isQuiet() const noexcept { return !draws && options.style != ProgressStyle::plain; }

    void write(std::string_view text) const {
        if (options.out != nullptr) {
            options.out->write(text.data(), static_cast<std::streamsize>(text.size()));
            options.out->flush();
            return;
        }
        while (!text.empty()) {
            const ssize_t written = ::write(options.fd, text.data(), text.size());
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) return;
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    }

    // Returns the usable columns. One column stays free, because a cursor after the last column begins a new line on
    // some terminals.
    std::size_t columns() const noexcept {
        if (options.width > 0) return static_cast<std::size_t>(options.width) - 1;
        winsize size = {};
        if (options.out == nullptr && ioctl(options.fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
            return size.ws_col - 1U;
        return usual_width - 1;
    }

    /// Returns the current superstep with the most tasks; of several, the outermost.
    const Watched* shown() const noexcept SG_REQUIRES(mutex) {
        const Watched* best = nullptr;
        for (const auto& [id, run] : runs) {
            if (!run.is_open || !run.is_counted) continue;
            if (best == nullptr || run.counts.tasks > best->counts.tasks) best = &run;
        }
        return best;
    }

    void draw() SG_REQUIRES(mutex) {
        if (!draws) return;
        const auto now = Clock::now();
        if (!drawn.empty() && now - drawn_at < options.redraw_every) return;
        const Watched* const run = shown();
        if (run == nullptr) return;
        Counts counts = run->counts;
        counts.elapsed_ns = nsSince(run->since);
        std::string line = progress::superstepLine(options.label, run->superstep, counts, columns());
        drawn_at = now;
        if (line == drawn) return;
        drawn = std::move(line);
        write('\r' + drawn + "\x1b[K");
    }

    Watched* find(std::uint64_t run_id) noexcept SG_REQUIRES(mutex) {
        const auto found = runs.find(run_id);
        return found == runs.end() ? nullptr : &found->second;
    }

    // A run may be known only from a later superstep on, because a bar may be given to a graph whose runs are under
    // way.
    Watched* findOrAdd(const ObservedRun& run) SG_REQUIRES(mutex) {
        if (Watched* const known = find(run.run_id)) return known;
        if (runs.size() >= runs_max) return nullptr;
        const Watched* const outer = run.parent_run_id == 0 ? nullptr : find(run.parent_run_id);
        Watched& added = runs[run.run_id];
        added.root = outer != nullptr ? outer->root : run.run_id;
        if (added.root == run.run_id) totals[run.run_id].since = Clock::now();
        return &added;
    }

    void countSuperstep(Watched& run) {
        if (run.is_counted) return;
        run.is_counted = true;
        ++run.superstep;
    }

    // Changes the numbers of a superstep and of its run.
    template <class F>
    void count(Watched& run, F change) SG_REQUIRES(mutex) {
        change(run.counts);
        const auto total = totals.find(run.root);
        if (total != totals.end()) change(total->second.counts);
    }

    void end(const RunEnd& end) SG_REQUIRES(mutex) {
        const auto total = totals.find(end.run.run_id);
        const auto run = runs.find(end.run.run_id);
        if (run != runs.end()) runs.erase(run);
        if (total == totals.end()) return;
        Counts counts = total->second.counts;
        counts.elapsed_ns = end.duration.count();
        totals.erase(total);
        if (isQuiet()) return;
        const std::string line = progress::endLine(options.label, toString(end.ending), end.supersteps, counts);
        const bool was_open = !drawn.empty();
        drawn.clear();
        write((was_open ? "\r" : "") + line + (was_open ? "\x1b[K\n" : "\n"));
    }
};

ProgressBar::ProgressBar(const ProgressOptions& options) {
    if (options.width != 0 && options.width < 20) {
        throw InvalidArgumentError("ProgressOptions::width is " + std::to_string(options.width) +
                                   "; it must be at least 20, or 0 for the terminal's");
    }
    if (options.redraw_every.count() < 0)
        throw InvalidArgumentError("ProgressOptions::redraw_every must not be negative");
    impl_ = std::make_unique<Impl>(options);
}

ProgressBar::~ProgressBar() {
    try {
        if (!impl_->drawn.empty()) impl_->write("\n");
    } catch (...) {
        // There is no way to report this failure.
    }
}

void ProgressBar::superstepStarts(const SuperstepStart& start) {
    if (impl_->isQuiet()) return;
    const detail::LockGuard lock(impl_->mutex);
    Watched* const run = impl_->findOrAdd(start.run);
    if (run == nullptr) return;
    run->is_open = true;
    run->is_counted = false;
    run->counts = {};
    run->since = Clock::now();
    run->counts.tasks = start.tasks;
    if (start.restored == 0) return;  // it may be START's
    impl_->countSuperstep(*run);
    impl_->count(*run, [&start](Counts& counts) {
        counts.done += start.restored;
        counts.restored += start.restored;
    });
    impl_->draw();
}

void ProgressBar::superstepEnds(const SuperstepEnd& end) {
    if (impl_->isQuiet()) return;
    const detail::LockGuard lock(impl_->mutex);
    if (Watched* const run = impl_->find(end.run.run_id)) run->is_open = false;
}

void ProgressBar::taskStarts(const TaskStart& start) {
    if (impl_->isQuiet() || start.node == START) return;
    const detail::LockGuard lock(impl_->mutex);
    Watched* const run = impl_->find(start.run.run_id);
    if (run == nullptr || run->is_counted) return;
    impl_->countSuperstep(*run);
    impl_->draw();
}

void ProgressBar::taskEnds(const TaskEnd& end) {
    if (impl_->isQuiet() || end.node == START) return;
    const detail::LockGuard lock(impl_->mutex);
    Watched* const run = impl_->find(end.run.run_id);
    if (run == nullptr) return;
    const bool is_done = end.ending == Ending::done || end.ending == Ending::handled;
    if (!is_done && end.ending != Ending::failed) return;
    impl_->count(*run, [is_done](Counts& counts) { ++(is_done ? counts.done : counts.failed); });
    impl_->draw();
}

void ProgressBar::taskRetries(const TaskRetry& retry) {
    if (impl_->isQuiet()) return;
    const detail::LockGuard lock(impl_->mutex);
    Watched* const run = impl_->find(retry.run.run_id);
    if (run == nullptr) return;
    impl_->count(*run, [](Counts& counts) { ++counts.retries; });
    impl_->draw();
}

void ProgressBar::runEnds(const RunEnd& end) {
    if (impl_->isQuiet()) return;
    const detail::LockGuard lock(impl_->mutex);
    impl_->end(end);
}

}  // namespace stategraph
