#pragma once
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/forwarding_saver.hpp>

// What the workflow of faults_test.cpp has completed, and what of it is stored.
namespace workflow_faults {

namespace sg = stategraph;

/// What a run executes once: a step, an element of a foreach, an iteration of a loop, the asking (0) and the answered
/// (1) execution of a step that asks, a condition, a map.
struct Work {
    std::string_view name;
    std::int64_t number = 0;
    friend bool operator==(const Work&, const Work&) = default;
};
inline constexpr auto all_work =
    std::to_array<Work>({{"a"},        {"b"},       {"add"},     {"if x"},    {"if y"},    {"if none"}, {"x"},
                         {"y"},        {"list"},    {"each", 0}, {"each", 1}, {"each", 2}, {"total"},   {"loop", 1},
                         {"loop", 2},  {"loop", 3}, {"turn", 1}, {"turn", 2}, {"turn", 3}, {"n.first"}, {"n.ask", 0},
                         {"n.ask", 1}, {"n.last"},  {"gate", 0}, {"gate", 1}});

/// How often each piece of work was completed, and whether that is stored. Only `stored` allocates. Safe to use from
/// any thread.
class Ledger {
public:
    void complete(const Work& work) noexcept {
        for (std::size_t i = 0; i < all_work.size(); ++i) {
            if (all_work[i] == work) return void(++fresh_[i]);
        }
        ++unknown_;
    }
    /// Called when a commit is stored: it contains everything completed in its log.
    void storeLog(bool is_inside) noexcept {
        move([&](const Work& work) { return work.name.starts_with("n.") == is_inside; },
             [&](std::size_t i) { stored_[i] += fresh_[i].exchange(0) + pending_[i].exchange(0); });
    }
    /// Called when a pending write is stored: it contains what its task has completed. A write which states that the
    /// task has not finished replaces it.
    void storeTask(bool is_inside, std::string_view path, bool has_finished) noexcept {
        constexpr std::string_view step = "pull:", element = "push:";
        std::int64_t index = -1;
        if (path.starts_with(element)) std::from_chars(path.data() + element.size(), path.data() + path.size(), index);
        const auto belongs = [&](const Work& work) {
            if (work.name.starts_with("n.") != is_inside) return false;
            if (index >= 0) return work == Work{"each", index};
            return path.starts_with(step) && path.substr(step.size()) == work.name.substr(is_inside ? 2 : 0);
        };
        move(belongs, [&](std::size_t i) { pending_[i] = has_finished ? pending_[i] + fresh_[i].exchange(0) : 0; });
    }
    void forgetFresh() noexcept {
        for (auto& count : fresh_) count = 0;
    }
    void forgetAll() noexcept {
        for (auto* counts : {&fresh_, &pending_, &stored_}) {
            for (auto& count : *counts) count = 0;
        }
    }
    std::map<std::string, int> stored() const {
        std::map<std::string, int> counts;
        for (std::size_t i = 0; i < all_work.size(); ++i)
            counts[std::string(all_work[i].name) + " " + std::to_string(all_work[i].number)] = stored_[i];
        counts["unknown"] = unknown_;
        return counts;
    }

private:
    using Counts = std::array<std::atomic<int>, all_work.size()>;

    template <class Belongs, class Move>
    static void move(const Belongs& belongs, const Move& one) noexcept {
        for (std::size_t i = 0; i < all_work.size(); ++i) {
            if (belongs(all_work[i])) one(i);
        }
    }

    Counts fresh_ = {};    // not stored so far
    Counts pending_ = {};  // stored in a pending write
    Counts stored_ = {};   // stored in a commit
    std::atomic<int> unknown_ = 0;
};

/// Records in a ledger what has been stored.
class NotingSaver final : public sg::ForwardingSaver {
public:
    NotingSaver(std::shared_ptr<sg::BaseCheckpointSaver> inner, std::shared_ptr<Ledger> ledger)
        : ForwardingSaver(std::move(inner)), ledger_(std::move(ledger)) {}

    void put(const sg::PutRequest& request) override {
        inner()->put(request);
        const bool is_inside = !request.log.checkpoint_ns.empty();
        if (!request.commits.empty()) ledger_->storeLog(is_inside);
        for (const auto& write : request.writes) {
            // The format is in src/checkpoint/record.hpp.
            const bool has_finished = write.bytes.find("writes") != std::string_view::npos;
            ledger_->storeTask(is_inside, write.path, has_finished);
        }
    }

private:
    const std::shared_ptr<Ledger> ledger_;
};

}  // namespace workflow_faults
