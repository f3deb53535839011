#include "workflow/drive.hpp"

#include <chrono>
#include <condition_variable>
#include <type_traits>
#include <utility>

#include <stategraph/control.hpp>
#include <stategraph/detail/call_failure.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/detail/thread_read.hpp>
#include <stategraph/error.hpp>

#include "workflow/refuse.hpp"

namespace stategraph::workflow {
namespace {

// Waits until a time, or until the run is to end.
void sleepUntil(std::chrono::system_clock::time_point until, const std::stop_token& stop) {
    stategraph::detail::Mutex mutex;
    std::condition_variable_any changed;
    stategraph::detail::UniqueLock lock(mutex);
    changed.wait_until(lock.native(), stop, until, [] { return false; });
}

CheckpointId onlyAt(const RunInput& input) {
    if (const auto* const continuation = std::get_if<Continuation>(&input)) return continuation->only_at;
    const auto* const resumption = std::get_if<Resumption>(&input);
    return resumption != nullptr ? resumption->only_at : CheckpointId();
}

std::string firstLog(const RunInput& input) {
    if (const auto* const continuation = std::get_if<Continuation>(&input)) return continuation->first_log;
    const auto* const resumption = std::get_if<Resumption>(&input);
    return resumption != nullptr ? resumption->first_log : std::string();
}

bool isOrHolds(const std::string& log, const std::string& inner) {
    return inner.starts_with(log) && (inner.size() == log.size() || inner[log.size()] == '|');
}

}  // namespace

Drive::Drive(std::shared_ptr<const Flow::Impl> flow, std::string run_id, RunInput input, const RunOptions& options,
             Claim claim)
    : flow_(std::move(flow)),
      run_id_(std::move(run_id)),
      input_(std::move(input)),
      first_log_(firstLog(input_)),
      waits_(options.waits),
      claim_(claim),
      session_(std::make_shared<Session>()),
      config_{.thread_id = flow_->threadOf(run_id_),
              .durability = options.durability,
              .only_new = std::holds_alternative<Beginning>(input_),
              .only_at = onlyAt(input_),
              .max_concurrency = options.max_concurrency,
              .hub = options.hub,
              .observer = options.observer,
              .control = options.control,
              .timeout = options.timeout,
              .context = options.runtime_context.with(std::shared_ptr<const Session>(session_))} {
    session_->on_event = options.on_event;
    session_->tell({.kind = RunEvent::Kind::start});
    if (options.control)
        linked_.emplace(options.control->stopToken(), [session = session_] { session->stop.request_stop(); });
    stategraph::detail::UniqueLock lock(flow_->mutex);
    const auto isFree = [this]() SG_REQUIRES(flow_->mutex) { return !flow_->ending.contains(run_id_); };
    flow_->ended.wait(lock.native(), isFree);
    live_ = flow_->live.emplace(run_id_, session_);
}

Drive::~Drive() { close(); }

// From here on, a cancel is an edit of the thread, and not a request to the run.
void Drive::close() noexcept {
    const stategraph::detail::LockGuard lock(flow_->mutex);
    if (const auto live = std::exchange(live_, {})) flow_->live.erase(*live);
}

Result<State> Drive::invoke(Resumption&& input) const {
    if (!input.read) return graph().invoke(std::move(input.command), config_);
    Result<State> result;
    stategraph::detail::StateBox<State> box;
    stategraph::detail::invokeAfter(*graph().core(), *input.read,
                                    stategraph::detail::commandOf<State>(std::move(input.command)), config_, result,
                                    box.object());
    result.values = std::move(box.state);
    return result;
}

RunView Drive::run() {
    const auto invoke = [this]<class Input>(Input input, const RunConfig& config) {
        if constexpr (std::is_same_v<Input, Resumption>) {
            return this->invoke(std::move(input));
        } else {
            return graph().invoke(std::move(input), config);
        }
    };
    try {
        for (DriveNeed need = advance(); need != DriveNeed::done; need = advance()) {
            if (need == DriveNeed::sleep) {
                sleepUntil(wakesAt(), session_->stop.get_token());
                continue;
            }
            try {
                ended(leg(invoke));
            } catch (...) {
                failed(std::current_exception());
            }
        }
        return end();
    } catch (...) {
        rethrow();
    }
}

DriveNeed Drive::advance() {
    if (phase_ == Phase::asleep && isStopped()) phase_ = Phase::ended;
    if (phase_ == Phase::asleep) {
        if (std::chrono::system_clock::now() < wakesAt()) return DriveNeed::sleep;
        next_ = configAt(result_.config.checkpoint_id);
        phase_ = Phase::woken;
    }
    return phase_ == Phase::ended ? DriveNeed::done : DriveNeed::leg;
}

void Drive::ended(Result<State> result) {
    result_ = std::move(result);
    const bool is_waited_for = result_.status == Status::sleeping && result_.wake_at && waits_;
    phase_ = is_waited_for ? Phase::asleep : Phase::ended;
}

// A run that slept may have been cancelled, or continued by another caller, in the meantime: the call then ends with
// what it had before.
void Drive::failed(const std::exception_ptr& why) {
    const bool has_slept = phase_ == Phase::woken;
    try {
        std::rethrow_exception(why);
    } catch (const ThreadChangedError&) {
        if (!has_slept) throw;
    } catch (const ConcurrentUpdateError& error) {
        if (auto again = configAgain(error)) {
            next_ = std::move(again);
            return;
        }
        if (!has_slept || !isCanceled()) throw;
    } catch (const InvalidArgumentError&) {
        if (!has_slept || !isCanceled()) throw;
    }
    phase_ = Phase::ended;
}

RunConfig Drive::configAt(CheckpointId only_at) const {
    RunConfig config = config_;
    config.only_new = false;
    config.only_at = only_at;
    return config;
}

// Two calls that continue a run in different processes can each be first in the log of another workflow inside, so that
// neither would reach the end of the superstep. Therefore a call that was too late in one log resumes the run. Only in
// the log that was first when the call began does it leave the run to the other call: of the calls that began at one
// checkpoint one is first there, and a call that has begun before has another first log, or none. Returns the config
// of the leg that resumes the run, or none if it is left to the other call.
std::optional<RunConfig> Drive::configAgain(const ConcurrentUpdateError& error) const {
    const ErrorContext& at = error.context();
    const CheckpointId inside = session_->inside();
    const bool is_of_log = error.code() == Errc::concurrent_update && at.checkpoint_id.empty();
    if (!is_of_log || at.checkpoint_ns.empty() || inside.empty() || isStopped()) return {};
    if (inside == config_.only_at && isOrHolds(at.checkpoint_ns, first_log_)) return {};
    if (flow_->isCanceled(run_id_)) return {};
    return configAt(inside);
}

RunView Drive::end() {
    // Called before the result is looked at: a cancel is either seen here, or finds that the run is not under way.
    close();
    // Whoever is woken leaves out runs that are under way.
    if (result_.status == Status::sleeping && !waits_) flow_->bells.ringAt(*result_.wake_at);
    const bool stopped = isStopped();
    // If a caller was told that the run is canceled, it stays canceled, even if its last step had ended just before.
    if (stopped && flow_->saver) flow_->endAlone(run_id_, session_->isCancelStored());
    // The returned state is complete, unless something is due that only the store knows.
    const bool is_known = result_.status == Status::done ||
                          (result_.status == Status::interrupted && flow_->asks(result_.values, result_.interrupts));
    RunView view = !flow_->saver || (!stopped && is_known) ? viewOf(*flow_->plan, result_) : flow_->view(run_id_);
    if (view.status == RunStatus::canceled) session_->tell({.kind = RunEvent::Kind::canceled});
    if (view.status == RunStatus::paused) session_->tell({.kind = RunEvent::Kind::paused});
    session_->tell({.kind = RunEvent::Kind::finish, .status = toString(view.status)});
    return view;
}

void Drive::rethrow() const {
    try {
        throw;
    } catch (const ConcurrentUpdateError& error) {
        // If the thread is busy, or another caller has begun or continued it since it was read, nothing was executed.
        const bool has_run = error.code() == Errc::concurrent_update || error.code() == Errc::lease_lost;
        if (claim_ == Claim::run && has_run) throw;
        refuse(Refusal::already_claimed, run_id_, error.message());
    } catch (const RefusedError&) {
        throw;
    } catch (const stategraph::detail::CallFailure<InvalidArgumentError>& error) {
        refuse(Refusal::changed_definition, run_id_, error.message());
    } catch (const InvalidArgumentError& error) {
        if (claim_ != Claim::resume) throw;
        // A restart continues what is stored, so it is refused if that was cancelled, or is not of this definition.
        const bool is_changed = config_.only_at && !flow_->isCanceled(run_id_);
        refuse(is_changed ? Refusal::changed_definition : Refusal::already_claimed, run_id_, error.message());
        // The answer to a graph's question was refused, and the question stays open.
    } catch (const WrongTypeError& error) {
        if (claim_ != Claim::resume) throw;
        refuse(Refusal::invalid_resume_data, run_id_, error.message());
    }
}

}  // namespace stategraph::workflow
