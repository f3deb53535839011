// The simulation's model of the server against the server: the same random operations on both, and after each of them
// the same answer, and the same rows.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "tests/worker/queue/postgres_queue_helper.hpp"
#include "tests/worker/simulation/model_server.hpp"

namespace {

namespace sg = stategraph;
using namespace std::chrono_literals;
using simulation::Chance;
using simulation::ModelServer;
using simulation::Time;

constexpr sg::GraphFingerprint versions[] = {{1, 2}, {3, 4}};
// What operations take in truth is nothing to these: times are compared in ticks, and are multiples of them. Three
// units are the longest lease.
constexpr std::chrono::minutes unit = 8h;
constexpr std::chrono::minutes tick = unit / 60;

/// What `call()` says, as text, or which error it throws.
template <class Call>
std::string said(Call&& call) {
    try {
        return call();
    } catch (const sg::LeaseLostError&) {
        return "LeaseLostError";
    } catch (const sg::ConcurrentUpdateError&) {
        return "ConcurrentUpdateError";
    } catch (const sg::InvalidArgumentError&) {
        return "InvalidArgumentError";
    }
}

/// A claim, as both made it: their epochs differ.
struct TwinClaim {
    sg::Claim real;
    sg::Claim model;
};

class Twins {
public:
    explicit Twins(std::uint64_t seed) : chance_(seed) { model_.now = Time(std::chrono::hours(24 * 365 * 56)); }

    /// One operation. False: the two differ, which is a failure of the test.
    bool step() {
        stopTime();
        model_.now += 1ms;  // so that what is due first is the same for both
        static constexpr std::array<void (Twins::*)(), 18> operations{
            &Twins::submitOne, &Twins::submitOne, &Twins::submitMany, &Twins::claim,   &Twins::claim,    &Twins::renew,
            &Twins::begin,     &Twins::begin,     &Twins::release,    &Twins::release, &Twins::release,  &Twins::change,
            &Twins::change,    &Twins::put,       &Twins::put,        &Twins::answer,  &Twins::passTime, &Twins::rare};
        (this->*operations[chance_.below(operations.size())])();
        left_at_ = raw_.run("SELECT clock_timestamp()");
        CAPTURE(what_);
        CHECK(real_said_ == model_said_);
        const std::string model = modelRows();
        const std::string real = realRows();
        CHECK(real == model);
        return real == model && real_said_ == model_said_;
    }

private:
    template <class Real, class Model>
    void both(const std::string& what, Real real, Model model) {
        what_ = what;
        real_said_ = said(real);
        model_said_ = said(model);
    }
    std::string thread() { return "t" + std::to_string(chance_.below(4)); }
    static std::string yes(bool is) { return is ? "yes" : "no"; }

    // --------------------------------------------------------------------------------------------------- operations
    sg::QueuedInput input() {
        sg::QueuedInput input{.thread_id = thread(), .graph = chance_.percent(5) ? "other" : "graph"};
        input.input = sg::Value(static_cast<std::int64_t>(chance_.below(1000)));
        if (chance_.percent(20)) input.queue = "batch";
        if (chance_.percent(50)) input.key = "k" + std::to_string(chance_.below(3));
        return input;
    }
    void submit(const std::vector<sg::QueuedInput>& inputs) {
        const auto text = [](const std::vector<sg::Receipt>& receipts) {
            std::string all;
            for (const sg::Receipt& each : receipts) all += std::to_string(each.number) + (each.is_new ? "+ " : "= ");
            return all;
        };
        both(
            "submit", [&] { return text(on_.queue.submit(inputs)); }, [&] { return text(model_.submit(inputs)); });
    }
    void submitOne() { submit({input()}); }
    void submitMany() { submit({input(), input(), input()}); }

    void claim() {
        const std::size_t most = isDueOrdered() ? 1 + chance_.below(3) : 100;
        const sg::ClaimRequest request{.worker = "w" + std::to_string(chance_.below(2)),
                                       .lease = chance_.percent(50) ? unit : 3 * unit,
                                       .graphs = {{"graph", versions[chance_.below(2)]}},
                                       .queues = {{"default", most}, {"batch", most}},
                                       .running = isDueOrdered() ? chance_.below(4) : 0};
        std::vector<sg::Claim> real;
        std::vector<sg::Claim> model;
        both(
            "claim", [&] { return text(real = on_.queue.claim(request)); },
            [&] { return text(model = model_.claim(request)); });
        for (std::size_t i = 0; i < std::min(real.size(), model.size()); ++i) claims_.push_back({real[i], model[i]});
    }
    // No rule says which ones are first among those that are due at one time.
    bool isDueOrdered() {
        std::vector<Time> due;
        for (const auto& [name, thread] : model_.queue().threads) {
            if (thread.work && thread.work->due) due.push_back(*thread.work->due);
        }
        std::ranges::sort(due);
        return std::ranges::adjacent_find(due) == due.end();
    }
    static std::string text(std::vector<sg::Claim>& claims) {
        std::ranges::sort(claims, {}, &sg::Claim::thread_id);
        std::string all;
        for (const sg::Claim& each : claims) {
            all += each.thread_id + " " + each.queue + " " + each.graph + " " + sg::toString(each.state) + " " +
                   std::to_string(each.attempts) + " woken " + yes(each.is_woken) + " apart " +
                   std::to_string(each.apart) + " cancelled " + yes(each.is_cancelled) + " head " +
                   each.head.toString() + " version " + std::to_string(each.version ? each.version->graph : 0) +
                   " input " + std::to_string(each.input_number.value_or(0)) + " " + each.input.toJson() + " " +
                   each.error + "\n";
        }
        return all;
    }
    // Mostly one of the newest.
    TwinClaim* someClaim() {
        if (claims_.empty()) return nullptr;
        const std::size_t back = chance_.percent(80) ? chance_.below(5) : chance_.below(claims_.size());
        return &claims_[claims_.size() - 1 - std::min(back, claims_.size() - 1)];
    }

    void begin() {
        const TwinClaim* const one = someClaim();
        if (!one) return;
        const auto call = [&](auto& server, const sg::Claim& claim) {
            const sg::HeldLease held{claim.thread_id, claim.epoch};
            return yes(server.begin(std::span(&held, 1)).size() == 1);
        };
        both(
            "begin", [&] { return call(on_.queue, one->real); }, [&] { return call(model_, one->model); });
    }

    void renew() {
        const TwinClaim* const one = someClaim();
        if (!one) return;
        const auto call = [&](auto& server, const sg::Claim& claim) {
            const sg::HeldLease held{claim.thread_id, claim.epoch};
            const auto renewed = server.renew(std::span(&held, 1), 2 * unit);
            return renewed.empty() ? "lost" : "lasts, cancelled " + yes(renewed[0].is_cancelled);
        };
        both(
            "renew", [&] { return call(on_.queue, one->real); }, [&] { return call(model_, one->model); });
    }

    void release() {
        const TwinClaim* const one = someClaim();
        if (!one) return;
        sg::Release release{.thread_id = one->real.thread_id};
        release.outcome = static_cast<sg::WorkOutcome>(chance_.below(8));
        release.delay = 2 * unit;
        release.version = versions[chance_.below(2)];
        if (chance_.percent(50)) release.error = "no luck";
        const bool looks_for_crashes = chance_.percent(60);
        const auto wake_in = chance_.percent(80) ? 4 * unit : -4 * unit;
        const auto call = [&](auto& server, const sg::Claim& claim, Time now) {
            sg::Release own = release;
            own.epoch = claim.epoch;
            own.uptime = looks_for_crashes ? claim.uptime : 0;
            own.wake_at = std::chrono::system_clock::time_point(now + wake_in);
            return yes(server.release(std::span(&own, 1)).size() == 1);
        };
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        both(
            std::string("release ") + std::to_string(static_cast<int>(release.outcome)),
            [&] { return call(on_.queue, one->real, std::chrono::duration_cast<Time>(now)); },
            [&] { return call(model_, one->model, model_.now); });
    }

    // Operations on one thread, from outside.
    void change() {
        const std::string name = thread();
        const auto number =
            static_cast<std::int64_t>(1 + chance_.below(static_cast<std::size_t>(model_.queue().numbers) + 1));
        const std::size_t kind = chance_.below(4);
        const auto call = [&](auto& server) {
            if (kind == 0) return yes(server.withdraw(name, number));
            if (kind == 1) return yes(server.cancel(name));
            return yes(kind == 2 ? server.wake(name) : server.retry(name));
        };
        both(
            "withdraw, cancel, wake or retry " + std::to_string(kind) + " of " + name, [&] { return call(on_.queue); },
            [&] { return call(model_); });
    }

    sg::CheckpointId headOf(const std::string& name) {
        const auto heads = model_.rows().list({.thread_id = name, .checkpoint_ns = "", .limit = 1, .heads = true});
        return heads.empty() ? sg::CheckpointId() : heads.front().id;
    }

    // A commit under a lease, or what becomes of it.
    void put() {
        const TwinClaim* const one = someClaim();
        if (!one) return;
        const std::string& name = one->real.thread_id;
        const sg::CheckpointId head = headOf(name);
        const auto commit =
            sg::testing::makeCommit({.id = sg::testing::nthId(++commits_), .parent = head, .step = commits_});
        const sg::CommitRow row = commit.row();
        const bool is_stale = chance_.percent(15);
        const sg::PutRequest request{.log = {name},
                                     .expected_head = is_stale ? sg::testing::nthId(0) : head,
                                     .commits = {&row, 1},
                                     .writes = {},
                                     .sync = chance_.percent(50)};
        const bool takes = chance_.percent(60);
        const auto leaseOf = [&](const sg::Claim& claim) {
            sg::PutLease lease{.epoch = claim.epoch};
            if (takes) lease.takes = claim.input_number;
            return lease;
        };
        both(
            "put",
            [&] {
                on_.saver->put(request, leaseOf(one->real));
                return std::string("stored");
            },
            [&] {
                model_.put(request, leaseOf(one->model));
                return std::string("stored");
            });
    }

    // A conditional write without a lease, as answers are.
    void answer() {
        const std::string name = thread();
        const sg::CheckpointId head = headOf(name);
        if (head.empty()) return;
        const std::string path = "task" + std::to_string(chance_.below(2));
        const sg::WriteRow row{head, path, "answer", chance_.percent(70) ? "" : "answer"};
        const sg::PutRequest request{
            .log = {name}, .expected_head = head, .commits = {}, .writes = {&row, 1}, .answers = true};
        both(
            "answer",
            [&] {
                on_.saver->put(request);
                return std::string("stored");
            },
            [&] {
                model_.put(request, {});
                return std::string("stored");
            });
    }

    void passTime() {
        const auto time = 37 * tick * (1 + static_cast<int>(chance_.below(5)));
        model_.now += time;
        const std::string by = " - interval '" + std::to_string(time.count()) + " minutes'";
        raw_.run("UPDATE " + on_.schema.name() + ".work SET due = due" + by);
        raw_.run("UPDATE " + on_.schema.name() + ".inputs SET taken = taken" + by);
        both(
            "time passes", [] { return std::string(); }, [] { return std::string(); });
    }

    // For the server no time passes between two operations, however long the machine pauses there.
    void stopTime() {
        if (left_at_.empty()) return;
        const std::string by = " + (now() - '" + left_at_ + "'::timestamptz)";
        raw_.run("UPDATE " + on_.schema.name() + ".work SET due = due" + by);
        raw_.run("UPDATE " + on_.schema.name() + ".inputs SET taken = taken" + by);
    }

    void rare() {
        const std::size_t kind = chance_.below(4);
        if (kind == 0) {
            both(
                "forget keys", [&] { return std::to_string(on_.queue.forgetKeys(unit)); },
                [&] { return std::to_string(model_.forgetKeys(unit)); });
        } else if (kind == 1) {
            raw_.run("TRUNCATE " + on_.schema.name() + ".uptime");  // as a crash does
            model_.restart();
        } else if (kind == 2) {
            const std::string name = thread();
            on_.saver->deleteThread(name);
            model_.deleteThread(name);
        } else {
            passTime();
        }
    }

    // --------------------------------------------------------------------------------------------------------- rows
    std::string realRows() {
        const std::string& schema = on_.schema.name();
        const std::string none = "00000000-0000-0000-0000-000000000000";
        const std::string work = raw_.run(
            "SELECT coalesce(string_agg(concat_ws(' ', encode(thread, 'escape'), queue, graph, state, "
            "coalesce(round(extract(epoch FROM due - now()) / " +
            std::to_string(std::chrono::seconds(tick).count()) +
            ")::bigint::text, 'never'), (epoch <> 0)::int, "
            "coalesce(worker, '-'), attempts, inputs, coalesce(head, '" +
            none + "'), coalesce(version, '" + none +
            "'), array_to_string(refused, ','), is_woken::int, is_cancelled::int, is_aside::int, coalesce(error, ''), "
            "together, apart, is_begun::int), "
            "E'\\n' ORDER BY thread), '') FROM " +
            schema + ".work");
        return work + "\n" +
               raw_.run(
                   "SELECT coalesce(string_agg(concat_ws(' ', encode(thread, 'escape'), seq, "
                   "coalesce(encode(key, 'escape'), '-'), (taken IS NOT NULL)::int, (input IS NULL)::int), "
                   "E'\\n' ORDER BY thread, seq), '') FROM " +
                   schema + ".inputs");
    }
    std::string modelRows() {
        std::string work;
        std::string inputs;
        for (const auto& [name, thread] : model_.queue().threads) {
            if (thread.work) work += (work.empty() ? "" : "\n") + workText(name, *thread.work);
            for (const auto& each : thread.inputs) {
                inputs += (inputs.empty() ? "" : "\n") + name + " " + std::to_string(each.number) + " " +
                          (each.key.empty() ? "-" : each.key) + (each.taken ? " 1 1" : " 0 0");
            }
        }
        return work + "\n" + inputs;
    }
    std::string workText(const std::string& name, const simulation::ModelWork& work) {
        const auto idText = [](const sg::GraphFingerprint& version) {
            return sg::CheckpointId(version.graph, version.schema).toString();
        };
        const auto ticks = [&](Time due) {
            return std::to_string(std::llround(std::chrono::duration<double>(due - model_.now) / tick));
        };
        std::string refused;
        for (const auto& each : work.refused) refused += (refused.empty() ? "" : ",") + idText(each);
        const auto flag = [](bool is) { return is ? " 1" : " 0"; };
        return name + " " + work.queue + " " + work.graph + " " + std::to_string(static_cast<int>(work.state)) + " " +
               (work.due ? ticks(*work.due) : "never") + flag(work.epoch != 0) + " " +
               (work.worker.empty() ? "-" : work.worker) + " " + std::to_string(work.attempts) + " " +
               std::to_string(work.inputs) + " " + work.head.toString() + " " +
               idText(work.version.value_or(sg::GraphFingerprint{})) + " " + refused + flag(work.is_woken) +
               flag(work.is_cancelled) + flag(work.is_aside) + " " + work.error + " " + std::to_string(work.together) +
               " " + std::to_string(work.apart) + flag(work.is_begun);
    }

    postgres_tests::Queue on_;
    postgres_tests::Raw raw_;
    ModelServer model_;
    Chance chance_;
    std::vector<TwinClaim> claims_;
    unsigned commits_ = 0;
    std::string left_at_;  // the server's time when the last operation had ended
    std::string what_;
    std::string real_said_;
    std::string model_said_;
};

}  // namespace

TEST_CASE("the simulation's server answers as PostgreSQL does, and has the same rows, whatever is asked of it") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        Twins twins(seed);
        for (int i = 0; i < 250; ++i) {
            CAPTURE(i);
            if (!twins.step()) return;
        }
    }
}
