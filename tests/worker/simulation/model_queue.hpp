#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/postgres_queue.hpp>

#include "tests/worker/simulation/scheduler.hpp"

namespace simulation {

namespace sg = stategraph;

/// A row of `inputs`.
struct ModelInput {
    std::int64_t number = 0;
    std::string key = {};
    sg::Value input = {};
    std::optional<Time> taken = {};
};

/// A row of `work`.
struct ModelWork {
    std::string queue = {};
    std::string graph = {};
    sg::WorkState state = sg::WorkState::idle;
    std::optional<Time> due = {};
    std::int64_t epoch = 0;
    std::string worker = {};
    std::int64_t attempts = 0;
    std::int64_t inputs = 0;
    sg::CheckpointId head = {};
    std::optional<sg::GraphFingerprint> version = {};
    std::vector<sg::GraphFingerprint> refused = {};
    bool is_woken = false;
    bool is_cancelled = false;
    bool is_aside = false;
    std::string error = {};
    std::int64_t together = 0;
    std::int64_t apart = 0;
    bool is_begun = false;

    /// With how many others it may run, if it is claimed now.
    std::int64_t apartIfClaimed() const {
        if (epoch == 0 || (apart > 0 && !is_begun)) return apart;
        return std::max<std::int64_t>(1, ((apart == 0 ? together : apart) + 3) / 4);
    }
};

/// What the queue has of a thread.
struct ModelThread {
    std::optional<ModelWork> work = {};
    std::vector<ModelInput> inputs = {};  // ascending
};

/// The tables of the queue as values: each function does what the statement of that name in
/// worker/queue/postgres_queue_statements.cpp does, at a time that it is given. The test
/// postgres_model_test.cpp compares both, operation by operation.
struct ModelQueue {
    std::map<std::string, ModelThread, std::less<>> threads;
    std::int64_t epochs = 0;   // the sequence
    std::int64_t numbers = 0;  // of inputs
    std::int64_t uptime = 0;   // 0: the table is empty

    std::vector<sg::Receipt> submit(std::span<const sg::QueuedInput> inputs, Time now);
    bool withdraw(std::string_view thread_id, std::int64_t number);
    bool cancel(std::string_view thread_id, Time now);
    bool wake(std::string_view thread_id, Time now);
    bool retry(std::string_view thread_id, Time now);
    template <class HeadOf>
    std::vector<sg::Claim> claim(const sg::ClaimRequest& request, Time now, HeadOf headOf);
    std::vector<std::string> begin(std::span<const sg::HeldLease> held);
    std::vector<sg::Renewed> renew(std::span<const sg::HeldLease> held, Time lease, Time now);
    std::vector<std::string> release(std::span<const sg::Release> releases, Time now);
    std::size_t forgetKeys(Time kept, Time now);

    ModelWork* find(std::string_view thread_id) {
        const auto found = threads.find(thread_id);
        return found != threads.end() && found->second.work ? &*found->second.work : nullptr;
    }
    bool hasLease(std::string_view thread_id, std::int64_t epoch) {
        const ModelWork* const work = find(thread_id);
        return work && work->epoch == epoch;
    }
    /// An input that waits, or null.
    ModelInput* waiting(std::string_view thread_id, std::int64_t number) {
        const auto found = threads.find(thread_id);
        if (found == threads.end()) return nullptr;
        for (ModelInput& each : found->second.inputs) {
            if (each.number == number && !each.taken) return &each;
        }
        return nullptr;
    }
    /// With the first commits of a run (postgresWorkPutFunction).
    void take(std::string_view thread_id, std::int64_t number, Time now) {
        ModelThread& thread = threads.find(thread_id)->second;
        ModelInput& input = *waiting(thread_id, number);
        input.taken = now;
        input.input = {};
        if (input.key.empty()) std::erase_if(thread.inputs, [&](const auto& each) { return each.number == number; });
        thread.work->state = sg::WorkState::begun;
        --thread.work->inputs;
    }

private:
    static void releaseOne(ModelWork& work, const sg::Release& release, sg::WorkOutcome outcome, Time now);
    sg::Receipt submitOne(const sg::QueuedInput& input, Time now);
    sg::Claim claimOne(const std::string& thread_id, ModelThread& thread, const sg::ClaimRequest& request,
                       sg::CheckpointId head, std::int64_t together, Time now);
    static std::optional<sg::GraphFingerprint> versionOf(const ModelWork& work, const sg::ClaimRequest& request) {
        const auto graph = std::ranges::find(request.graphs, work.graph, &sg::ClaimedGraph::name);
        return graph != request.graphs.end() ? std::optional(graph->version) : std::nullopt;
    }
    static bool mayClaim(const ModelWork& work, const sg::ClaimRequest& request, Time now) {
        const auto version = versionOf(work, request);
        const bool is_apart = work.epoch != 0 || work.apart > 0;
        const bool fits = !is_apart || *work.due <= now - request.lease ||
                          work.apartIfClaimed() > static_cast<std::int64_t>(request.running);
        return fits && (work.is_cancelled || (version && !std::ranges::count(work.refused, *version)));
    }
};

inline sg::Receipt ModelQueue::submitOne(const sg::QueuedInput& input, Time now) {
    ModelThread& thread = threads[input.thread_id];
    for (const ModelInput& each : thread.inputs) {
        if (!input.key.empty() && each.key == input.key) return {each.number, false};
    }
    if (!thread.work) thread.work = ModelWork{.queue = input.queue, .graph = input.graph, .due = now};
    ModelWork& work = *thread.work;
    ++work.inputs;
    if (work.epoch == 0 && work.state == sg::WorkState::idle && !work.is_aside && !work.due) work.due = now;
    if (work.graph != input.graph) throw sg::InvalidArgumentError("another graph");
    if (work.inputs > static_cast<std::int64_t>(sg::PostgresQueue::inputs_max))
        throw sg::InvalidArgumentError("too many inputs");
    const std::int64_t number = ++numbers;  // also if a later input of the call is refused, as a sequence's are
    thread.inputs.push_back({number, input.key, input.input, {}});
    return {number, true};
}

inline std::vector<sg::Receipt> ModelQueue::submit(std::span<const sg::QueuedInput> inputs, Time now) {
    std::vector<std::size_t> places(inputs.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    std::ranges::stable_sort(places, {}, [&](std::size_t i) { return inputs[i].thread_id; });
    const auto before = threads;
    std::vector<sg::Receipt> receipts(inputs.size());
    try {
        for (const std::size_t i : places) receipts[i] = submitOne(inputs[i], now);
    } catch (...) {
        threads = before;
        throw;
    }
    return receipts;
}

inline bool ModelQueue::withdraw(std::string_view thread_id, std::int64_t number) {
    ModelWork* const work = find(thread_id);
    if (!work || !waiting(thread_id, number)) return false;
    std::erase_if(threads.find(thread_id)->second.inputs, [&](const auto& each) { return each.number == number; });
    --work->inputs;
    return true;
}

inline bool ModelQueue::cancel(std::string_view thread_id, Time now) {
    ModelWork* const work = find(thread_id);
    if (!work) return false;
    work->inputs -= static_cast<std::int64_t>(
        std::erase_if(threads.find(thread_id)->second.inputs, [](const auto& each) { return !each.taken; }));
    work->is_cancelled = true;
    work->is_aside = false;
    if (work->epoch == 0) work->due = now;
    return true;
}

inline bool ModelQueue::wake(std::string_view thread_id, Time now) {
    ModelWork* const work = find(thread_id);
    if (!work) return false;
    work->is_woken = true;
    if (work->epoch == 0 && !work->is_aside) work->due = std::min(work->due.value_or(now), now);
    return true;
}

inline bool ModelQueue::retry(std::string_view thread_id, Time now) {
    ModelWork* const work = find(thread_id);
    if (!work || !work->is_aside) return false;
    work->is_aside = false;
    work->is_woken = true;
    work->attempts = 0;
    work->due = now;
    work->refused.clear();
    return true;
}

inline sg::Claim ModelQueue::claimOne(const std::string& thread_id, ModelThread& thread,
                                      const sg::ClaimRequest& request, sg::CheckpointId head, std::int64_t together,
                                      Time now) {
    ModelWork& work = *thread.work;
    sg::Claim claim{.thread_id = thread_id, .queue = work.queue, .graph = work.graph};
    claim.version = work.version;
    claim.due = std::chrono::system_clock::time_point(*work.due);
    claim.is_woken = std::exchange(work.is_woken, false);
    const bool was_lost = work.epoch != 0;
    const bool was_alone = work.apart == 1 && work.is_begun;
    work.apart =
        was_lost && work.head != head ? std::max<std::int64_t>(1, (work.together + 3) / 4) : work.apartIfClaimed();
    work.due = now + request.lease;
    work.epoch = ++epochs;
    work.worker = request.worker;
    if (work.head != head)
        work.attempts = 1;
    else
        work.attempts = was_lost && !was_alone ? std::max<std::int64_t>(work.attempts, 1) : work.attempts + 1;
    work.together = together;
    work.is_begun = false;
    work.head = head;
    work.version = versionOf(work, request);
    claim.apart = work.apart;
    claim.epoch = work.epoch;
    claim.state = work.state;
    claim.attempts = work.attempts;
    claim.is_cancelled = work.is_cancelled;
    claim.head = head;
    claim.error = work.error;
    if (work.state != sg::WorkState::idle) return claim;
    const auto input = std::ranges::find_if(thread.inputs, [](const auto& each) { return !each.taken; });
    if (input == thread.inputs.end()) return claim;
    claim.input_number = input->number;
    claim.input = input->input;
    return claim;
}

template <class HeadOf>
std::vector<sg::Claim> ModelQueue::claim(const sg::ClaimRequest& request, Time now, HeadOf headOf) {
    std::vector<std::pair<const std::string, ModelThread>*> found;
    for (const sg::ClaimedQueue& queue : request.queues) {
        std::vector<std::pair<const std::string, ModelThread>*> due;
        for (auto& each : threads) {
            const auto& work = each.second.work;
            const bool is_due = work && work->queue == queue.name && work->due && *work->due <= now &&
                                (!queue.due_after || *work->due > queue.due_after->time_since_epoch());
            if (is_due && mayClaim(*work, request, now)) due.push_back(&each);
        }
        std::ranges::stable_sort(due, {}, [](const auto* each) { return *each->second.work->due; });
        due.resize(std::min(due.size(), queue.most));
        found.insert(found.end(), due.begin(), due.end());
    }
    std::ranges::stable_partition(found, [&](const auto* each) {
        const ModelWork& work = *each->second.work;
        return (work.epoch != 0 || work.apart > 0) && *work.due <= now - request.lease;
    });
    // In turn, as long as each may be with all that the worker has then.
    const auto running = static_cast<std::int64_t>(request.running);
    std::int64_t room = std::numeric_limits<std::int64_t>::max();
    std::int64_t place = 0;
    std::erase_if(found, [&](const auto* each) {
        const std::int64_t apart = each->second.work->apartIfClaimed();
        if (apart > 0) room = std::min(room, apart);
        ++place;
        return place > 1 && running + place > room;
    });
    const std::int64_t together = running + static_cast<std::int64_t>(found.size());
    std::vector<sg::Claim> claims;
    for (auto* each : found)
        claims.push_back(claimOne(each->first, each->second, request, headOf(each->first), together, now));
    if (uptime == 0) uptime = ++epochs;
    for (sg::Claim& each : claims) each.uptime = uptime;
    return claims;
}

inline std::vector<std::string> ModelQueue::begin(std::span<const sg::HeldLease> held) {
    std::vector<std::string> begun;
    for (const sg::HeldLease& each : held) {
        if (!hasLease(each.thread_id, each.epoch)) continue;
        find(each.thread_id)->is_begun = true;
        begun.push_back(each.thread_id);
    }
    return begun;
}

inline std::vector<sg::Renewed> ModelQueue::renew(std::span<const sg::HeldLease> held, Time lease, Time now) {
    std::vector<sg::Renewed> renewed;
    for (const sg::HeldLease& each : held) {
        if (!hasLease(each.thread_id, each.epoch)) continue;
        ModelWork& work = *find(each.thread_id);
        work.due = now + lease;
        renewed.push_back({each.thread_id, work.is_cancelled});
    }
    return renewed;
}

inline void ModelQueue::releaseOne(ModelWork& work, const sg::Release& release, sg::WorkOutcome outcome, Time now) {
    using enum sg::WorkOutcome;
    const bool is_end = outcome == finished || outcome == cancelled;
    const bool is_left = is_end || outcome == waits || outcome == sleeps;
    const bool is_back = outcome == again || outcome == refused;
    work.epoch = 0;
    work.worker.clear();
    if (is_end) work.state = sg::WorkState::idle;
    if (outcome == waits) work.state = sg::WorkState::waits;
    if (outcome == sleeps) work.state = sg::WorkState::sleeping;
    if (is_end || is_back || work.is_cancelled)
        work.due = now;
    else if (outcome == set_aside)
        work.due.reset();
    else if (outcome == retry)
        work.due = now + std::max(release.delay, std::chrono::milliseconds(0));
    else if (work.is_woken)
        work.due = now;
    else if (outcome == sleeps)
        work.due = std::max(std::chrono::duration_cast<Time>(release.wake_at->time_since_epoch()), now + Time(50ms));
    else
        work.due.reset();
    if (is_left) work.attempts = 0;
    if (is_left || outcome == retry) work.apart = 0;
    if (is_back) work.attempts = std::max<std::int64_t>(work.attempts - 1, 0);
    if (outcome == refused) {
        if (work.refused.size() > 15) work.refused.erase(work.refused.begin(), work.refused.end() - 15);
        work.refused.push_back(release.version);
        work.version.reset();
    }
    work.is_aside = outcome == set_aside && !work.is_cancelled;
    work.is_cancelled = work.is_cancelled && outcome != cancelled;
    work.error = release.error;
}

inline std::vector<std::string> ModelQueue::release(std::span<const sg::Release> releases, Time now) {
    using enum sg::WorkOutcome;
    std::vector<std::string> released;
    for (const sg::Release& each : releases) {
        if (!hasLease(each.thread_id, each.epoch)) continue;
        ModelWork& work = *find(each.thread_id);
        released.push_back(each.thread_id);
        const bool may_be_gone =
            each.outcome == finished || each.outcome == cancelled || each.outcome == waits || each.outcome == sleeps;
        const bool has_crashed = each.uptime != 0 && each.uptime != uptime;
        const sg::WorkOutcome outcome = may_be_gone && has_crashed ? again : each.outcome;
        const bool is_end = outcome == finished || outcome == cancelled;
        if (is_end && work.inputs == 0 && (outcome == cancelled || !work.is_woken))
            threads.find(each.thread_id)->second.work.reset();
        else
            releaseOne(work, each, outcome, now);
    }
    return released;
}

inline std::size_t ModelQueue::forgetKeys(Time kept, Time now) {
    std::size_t forgotten = 0;
    for (auto& [thread_id, thread] : threads)
        forgotten +=
            std::erase_if(thread.inputs, [&](const auto& each) { return each.taken && *each.taken < now - kept; });
    return forgotten;
}

}  // namespace simulation
