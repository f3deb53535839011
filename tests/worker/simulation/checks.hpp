#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/record.hpp>

#include "tests/worker/simulation/simulated_worker.hpp"

namespace simulation {

/// What clients know of an input.
struct KnownInput {
    std::string thread_id = {};
    int input = 0;
    int count = 1;
    bool has_key = true;
    std::optional<std::int64_t> number = {};  // acknowledged
};

/// Notes what was promised, and checks that it was kept. It trusts nothing that the model of the server decides.
class Checks {
public:
    explicit Checks(Network& network) : network_(network) {
        network.server.on_claim = [this](const sg::Claim& claim) { claimed(claim); };
        network.server.on_put = [this](const StoredPut& put) { stored(put); };
        network.after_each = [this] { checkQueue(); };
    }

    /// Longer than any lease and back-off of the schedule.
    Time longest_wait{0};
    std::vector<KnownInput> inputs;
    /// Inputs of the thread up to this number were cancelled: they may be incomplete.
    std::map<std::string, std::int64_t> cancelled;

    /// The first thing that is wrong; empty: nothing is.
    const std::string& found() const noexcept { return found_; }
    void wrong(const std::string& what) {
        network_.say(what);
        if (found_.empty()) found_ = what;
    }

    /// A commit with `sync` that its writer knows to be stored.
    void acknowledged(const sg::PutRequest& request) {
        if (request.sync && !request.commits.empty())
            promised_[std::string(request.log.thread_id)].insert(request.commits.back().id);
    }

    /// At the end.
    void checkStore() {
        std::set<std::string> names;
        for (const KnownInput& each : inputs) names.insert(each.thread_id);
        for (const std::string& name : names) {
            checkChain(name);
            checkInputs(name);
        }
    }

private:
    // Epochs ascend, and each commit is made under the newest one.
    void claimed(const sg::Claim& claim) {
        std::int64_t& epoch = epochs_[claim.thread_id];
        if (claim.epoch <= epoch)
            wrong("thread " + claim.thread_id + " was claimed with epoch " + std::to_string(claim.epoch) + " after " +
                  std::to_string(epoch));
        epoch = claim.epoch;
        network_.say("claim " + claim.thread_id + " epoch " + std::to_string(claim.epoch) + " " +
                     sg::toString(claim.state));
    }
    void stored(const StoredPut& put) {
        const std::string name(put.thread_id);
        network_.say("commit " + name + " epoch " + std::to_string(put.epoch.value_or(0)) + " " +
                     put.commits.back().id.toString());
        if (put.epoch != epochs_[name])
            wrong("a commit of thread " + name + " was stored under epoch " + std::to_string(put.epoch.value_or(0)) +
                  ", and its newest claim has " + std::to_string(epochs_[name]));
    }

    // What is to be done is due, and within a lease.
    void checkQueue() {
        latest_ = std::max(latest_, network_.server.now);
        for (const auto& [name, thread] : network_.server.queue().threads) {
            if (!thread.work) continue;
            const ModelWork& work = *thread.work;
            if (work.is_aside) continue;
            const bool is_idle = work.state == sg::WorkState::idle && work.inputs == 0;
            const bool may_wait = work.state == sg::WorkState::waits || is_idle;
            const bool has_work = work.epoch != 0 || work.is_woken || work.is_cancelled || !may_wait;
            if (has_work && !work.due)
                wrong("thread " + name + " has something to do, and is never due (" + sg::toString(work.state) + ")");
            if (has_work && work.state != sg::WorkState::sleeping && work.due > latest_ + longest_wait)
                wrong("thread " + name + " has something to do, and is not due within a lease");
        }
    }

    // One line of commits, with all that was promised.
    void checkChain(const std::string& name) {
        sg::CheckpointId child_of;
        std::set<sg::CheckpointId> missing = promised_[name];
        for (const sg::ListedCheckpoint& row : network_.server.rows().list({.thread_id = name})) {
            if (!child_of.empty() && row.id != child_of)
                wrong("the log of thread " + name + " branches at " + row.id.toString());
            child_of = sg::readLinks({name, "", row.id}, row.bytes).parent;
            missing.erase(row.id);
        }
        if (!child_of.empty()) wrong("the log of thread " + name + " has lost its beginning");
        if (!missing.empty())
            wrong("the log of thread " + name + " has lost commit " + missing.begin()->toString() +
                  ", which was acknowledged");
    }

    // Each acknowledged input's entries, once, whole, in the order of numbers; of one that may have been sent, or was
    // cancelled, as many as it came to.
    void checkInputs(const std::string& name) {
        const auto graph = countingGraph({std::shared_ptr<void>(), &network_.server.rows()}, nullptr, {});
        const std::vector<int> log = graph.getState({.thread_id = name}).values.log;
        const std::int64_t cancelled_to = cancelled.contains(name) ? cancelled.at(name) : 0;
        std::set<int> seen;
        std::int64_t last = 0;
        for (std::size_t i = 0; i < log.size();) {
            const int input = log[i] / 100;
            const auto known = std::ranges::find_if(
                inputs, [&](const KnownInput& each) { return each.thread_id == name && each.input == input; });
            if (known == inputs.end()) return wrong("the log of thread " + name + " has an input that nobody sent");
            if (!seen.insert(input).second) return wrongInput(*known, "twice");
            const std::int64_t number = known->number.value_or(last);
            if (number < last) return wrongInput(*known, "after a later one");
            last = number;
            int n = 0;
            while (i < log.size() && log[i] == input * 100 + n + 1) ++n, ++i;
            if (n < known->count && number > cancelled_to) return wrongInput(*known, "in part");
            if (n == 0 || n > known->count) return wrongInput(*known, "with other entries");
        }
        for (const KnownInput& each : inputs) {
            const bool must_be = each.thread_id == name && each.number && *each.number > cancelled_to;
            if (must_be && !seen.contains(each.input)) wrongInput(each, "not at all");
        }
    }
    void wrongInput(const KnownInput& input, const std::string& how) {
        wrong("input " + std::to_string(input.input) + " is in the log of thread " + input.thread_id + " " + how);
    }

    Network& network_;
    std::string found_;
    Time latest_{0};
    std::map<std::string, std::int64_t> epochs_;
    std::map<std::string, std::set<sg::CheckpointId>> promised_;
};

}  // namespace simulation
