#include "src/task/flight.hpp"

#include <atomic>
#include <condition_variable>
#include <map>
#include <tuple>
#include <utility>

#include <stategraph/detail/mutex.hpp>

#include "src/superstep/task_context.hpp"

namespace stategraph::engine {

struct Flight {
    enum class State : std::uint8_t { under_way, given, lost, dismissed };
    using Name = std::tuple<const BaseCache*, std::string, std::string>;

    explicit Flight(const RunShared& shared) : run(&shared), is_read(shared.events->any()) {}

    const RunShared* const run;  // the leader's run
    const bool is_read;          // whether that run's events are read
    // Guarded by the mutex of all flights, as is `place`. The result does not change once it is given.
    State state = State::under_way;
    std::string result;
    std::condition_variable_any changed;
    std::map<Name, std::shared_ptr<Flight>>::iterator place;
};

namespace {

struct Flights {
    detail::Mutex mutex;
    std::map<Flight::Name, std::shared_ptr<Flight>> under_way SG_GUARDED_BY(mutex);
    std::atomic<std::uint64_t> ended = 0;
};

// Never destroyed, because threads may outlive main.
Flights& flights() {
    static auto* all = new Flights;
    return *all;
}

thread_local int marks = 0;

}  // namespace

bool isInsideFlight() noexcept { return marks > 0; }
FlightMark::FlightMark() noexcept { ++marks; }
FlightMark::~FlightMark() { --marks; }

std::uint64_t FlightSeat::ended() noexcept { return flights().ended.load(); }
const std::string& FlightSeat::result() const noexcept { return flight_->result; }

FlightSeat::Answer FlightSeat::join(TaskEnv& env, Task& task, const BaseCache& cache, std::string_view ns,
                                    std::string_view key, std::uint64_t seen) {
    Flights& all = flights();
    RunShared& shared = env.shared;
    Flight::Name name(&cache, ns, key);
    auto own = std::make_shared<Flight>(shared);
    detail::UniqueLock lock(all.mutex);
    const auto found = all.under_way.find(name);
    if (found == all.under_way.end()) {
        if (all.ended.load() != seen) return Answer::again;
        own->place = all.under_way.emplace(std::move(name), own).first;
        flight_ = std::move(own);
        leader_ = &task;
        task.leads_flight = true;
        mark_.emplace();
        return Answer::leads;
    }
    const std::shared_ptr<Flight> other = found->second;
    if (env.is_inside_flight || (other->run != &shared && other->is_read)) return Answer::alone;
    const auto is_over = [&] { return other->state != Flight::State::under_way; };
    if (shared.stop == nullptr) {
        other->changed.wait(lock.native(), is_over);
    } else if (!shared.stop->wait(other->changed, lock.native(), is_over)) {
        throw detail::StopSignal{};
    }
    if (other->state == Flight::State::lost) return Answer::again;
    if (other->state == Flight::State::dismissed) return Answer::alone;
    flight_ = other;
    return Answer::given;
}

void FlightSeat::give(std::string value) noexcept { end(std::move(value)); }
void FlightSeat::dismiss() noexcept { end({}, true); }

void FlightSeat::end(std::optional<std::string> value, bool is_dismissed) noexcept {
    if (leader_ == nullptr) return;
    leader_->leads_flight = false;
    leader_ = nullptr;
    mark_.reset();
    Flights& all = flights();
    const detail::LockGuard lock(all.mutex);
    if (value) flight_->result = std::move(*value);
    flight_->state = value ? Flight::State::given : is_dismissed ? Flight::State::dismissed : Flight::State::lost;
    flight_->changed.notify_all();
    all.under_way.erase(flight_->place);
    all.ended.fetch_add(1);
}

ActionInFlight::ActionInFlight(const detail::NodeAction& action, std::shared_ptr<const void> taken)
    : inner(action), input(std::move(taken)), outer(action) {
    outer.callable = std::shared_ptr<void>(std::shared_ptr<void>(), this);
    outer.start = nullptr;
    outer.call = [](const void* self, const void* object, Runtime& runtime, detail::TaskResult& result) {
        const FlightMark mark;
        const detail::NodeAction& called = static_cast<const ActionInFlight*>(self)->inner;
        called.call(called.callable.get(), object, runtime, result);
    };
}

}  // namespace stategraph::engine
