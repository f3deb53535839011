#pragma once
#include <chrono>
#include <iosfwd>
#include <memory>
#include <string>

#include <stategraph/observer.hpp>

namespace stategraph {

/// Where and how a ProgressBar writes.
enum class ProgressStyle : std::uint8_t {
    automatic,  // a line on a terminal that can redraw it (TERM is not "dumb"); elsewhere nothing
    line,       // the line in any case
    plain,      // one plain line when a run ends, and no other
    none,
};

/// The options of a ProgressBar.
struct ProgressOptions {
    /// Text at the beginning of the line, such as the purpose of the run. Its control characters are shown as '?'.
    std::string label = {};
    /// When and how the bar is drawn.
    ProgressStyle style = ProgressStyle::automatic;
    /// The file descriptor to write to; 2 is standard error. It is not closed.
    int fd = 2;
    /// The stream to write to instead; it does not count as a terminal. Not owned: it must outlive the bar. Null: `fd`.
    std::ostream* out = nullptr;
    /// Columns of the line; at least 20. 0: the terminal's, or 80.
    int width = 0;
    /// The shortest time between two drawings; 0: each change is drawn.
    std::chrono::milliseconds redraw_every = std::chrono::milliseconds(100);
};

/// An observer that shows people how far a run is: in a terminal one line, which is redrawn when tasks end.
///
///     sg::ProgressBar progress;
///     app.invoke(input, {.observer = &progress});
///
///     superstep 2 [########------------] 41/100 12.4/s 1 failed 2 retries 5 restored 0:05 left
///     done: 3 supersteps, 102 tasks in 0:09, 11.3/s, 2 retries, 5 restored
///
/// The line is about the superstep with the most tasks of those under way, subgraphs' included: how many of its tasks
/// have a result, how many a second get one, failed attempts that are not tried again, retries, results that an earlier
/// run stored, and about how long it will take. When a run ends, a final line with its outcome replaces the line. The
/// tasks of START do not count. Nothing is drawn while nothing changes.
///
/// One may watch several runs at once, up to 1,024 with those inside them; more are not shown. It is safe from any
/// thread, and what fails in writing is ignored. Errors of the constructor: InvalidArgumentError for options out of
/// range. Cost: a lock and two readings of a clock for each task's attempt, and a write of one line where it is drawn.
class ProgressBar final : public Observer {
public:
    explicit ProgressBar(const ProgressOptions& options = {});
    /// Ends a line that is open.
    ~ProgressBar() override;

    void runEnds(const RunEnd& end) override;
    void superstepStarts(const SuperstepStart& start) override;
    void superstepEnds(const SuperstepEnd& end) override;
    void taskStarts(const TaskStart& start) override;
    void taskEnds(const TaskEnd& end) override;
    void taskRetries(const TaskRetry& retry) override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
