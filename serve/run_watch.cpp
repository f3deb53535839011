#include "serve/run_watch.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/async.hpp>
#include <stategraph/json.hpp>
#include <stategraph/observer.hpp>

#include "serve/audit.hpp"

namespace stategraph::serve {

namespace {

using Clock = std::chrono::steady_clock;

/// The observer of one run. It passes everything on to the observer of the endpoint's configuration, if there is one.
class RunWatch final : public Observer {
public:
    RunWatch(Metrics& metrics, Observer* other) noexcept : metrics_(metrics), other_(other) {}

    void runStarts(const RunStart& event) override { pass(&Observer::runStarts, event); }
    void runEnds(const RunEnd& event) override {
        if (event.run.parent_run_id == 0) {
            ending = event.ending;
            supersteps = event.supersteps;
        }
        pass(&Observer::runEnds, event);
    }
    void superstepStarts(const SuperstepStart& event) override { pass(&Observer::superstepStarts, event); }
    void superstepEnds(const SuperstepEnd& event) override { pass(&Observer::superstepEnds, event); }
    void taskStarts(const TaskStart& event) override { pass(&Observer::taskStarts, event); }
    void taskEnds(const TaskEnd& event) override { pass(&Observer::taskEnds, event); }
    void taskRetries(const TaskRetry& event) override { pass(&Observer::taskRetries, event); }
    void checkpointStored(const CheckpointStored& event) override {
        metrics_.countStore("put", std::chrono::duration_cast<Metrics::Span>(event.duration));
        pass(&Observer::checkpointStored, event);
    }
    void interruptRaised(const InterruptRaised& event) override { pass(&Observer::interruptRaised, event); }
    void operationEnds(const OperationEnd& event) override { pass(&Observer::operationEnds, event); }
    void described(const Described& event) override { pass(&Observer::described, event); }
    bool wantsContent() const noexcept override { return other_ != nullptr && other_->wantsContent(); }

    std::optional<Status> ending = {};
    int supersteps = 0;
    Value usage = {};

private:
    template <class Event>
    void pass(void (Observer::*method)(const Event&), const Event& event) noexcept {
        if (other_ != nullptr) other_->tell(method, event);
    }

    Metrics& metrics_;
    Observer* const other_;
};

std::string whatOf(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "unknown error";
    }
}

/// Its arguments stay as long as the run, because a coroutine keeps those that are passed by value.
Task<> watch(std::shared_ptr<Shared> shared, boost::json::object line, std::string endpoint, Begin work,
             RunConfig config) {
    const auto began = Clock::now();
    RunWatch seen(shared->metrics, config.observer);
    config.observer = &seen;
    std::exception_ptr failed;
    try {
        Task<> run = work(std::move(config));
        co_await std::move(run);
    } catch (...) {
        failed = std::current_exception();
    }
    const std::string_view ending = seen.ending ? toString(*seen.ending) : "refused";
    shared->metrics.countRun(endpoint, ending);
    if (shared->options.log) {
        line["ending"] = ending;
        line["ms"] = millisecondsOf(Clock::now() - began);
        line["supersteps"] = seen.supersteps;
        if (failed) line["error"] = whatOf(failed);
        if (!seen.usage.isNull()) line["usage"] = toJsonValue(seen.usage);
        tell(shared->options.log, "run", std::move(line));
    }
    if (failed) std::rethrow_exception(failed);
}

}  // namespace

Begin watched(std::shared_ptr<Shared> shared, const Asked& asked, Begin work) {
    boost::json::object line;
    if (shared->options.log) line = askedAs(asked);
    return [shared = std::move(shared), line = std::move(line), endpoint = asked.route.name, work = std::move(work)](
               RunConfig config) { return watch(shared, line, endpoint, work, std::move(config)); };
}

namespace detail {

void tellUsage(Observer* watch, Value usage) {
    if (auto* const own = dynamic_cast<RunWatch*>(watch)) own->usage = std::move(usage);
}

}  // namespace detail

}  // namespace stategraph::serve
