#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/random/plan.hpp"
#include "tests/support/door.hpp"
#include "tests/support/savers.hpp"
#if STATEGRAPH_HAS_POSTGRES
#include "tests/storage/postgres/postgres_helper.hpp"
#endif

// What all histories have: the journal of what was executed, moments at which something can happen, and stores that
// outlive a process.
namespace books {

namespace sg = stategraph;
using random_graph::Random;

/// One execution of a tool, a step or a node.
struct Execution {
    std::string call_id = {};
    std::string tool = {};
    std::int64_t n = 0;       // the argument that a person may edit
    std::string result = {};  // empty until it has ended well
    bool has_thrown = false;
};

/// The first book, and the moments of a history. Safe from any thread.
class World {
public:
    /// An execution begins. It is wrong if somebody was told that it will not.
    std::size_t begin(const std::string& what, const std::string& call_id, const std::string& tool, std::int64_t n) {
        const std::lock_guard lock(mutex_);
        if (certain_.contains(what)) wrong_.push_back(what + " is executed again, and its result is stored");
        if (not_run_.contains(what)) wrong_.push_back(what + " was told as not run, and is executed");
        std::vector<Execution>& all = journal_[what];
        all.push_back({.call_id = call_id, .tool = tool, .n = n});
        return all.size() - 1;
    }
    void end(const std::string& what, std::size_t which, std::string result) {
        const std::lock_guard lock(mutex_);
        journal_[what][which].result = std::move(result);
    }
    void fail(const std::string& what, std::size_t which) {
        const std::lock_guard lock(mutex_);
        journal_[what][which].has_thrown = true;
    }
    std::vector<Execution> of(const std::string& what) const {
        const std::lock_guard lock(mutex_);
        const auto found = journal_.find(what);
        return found == journal_.end() ? std::vector<Execution>() : found->second;
    }
    std::map<std::string, std::vector<Execution>> journal() const {
        const std::lock_guard lock(mutex_);
        return journal_;
    }
    /// Somebody is told that it was not executed. It is wrong if it was.
    void toldAsNotRun(const std::string& what, const std::string& where) {
        const std::lock_guard lock(mutex_);
        not_run_.insert(what);
        if (journal_.contains(what)) wrong_.push_back(where + ": " + what + " was executed, and is told as not run");
    }

    /// A message is about to be sent to the run under way.
    void trySending(const std::string& text) {
        const std::lock_guard lock(mutex_);
        sent_.emplace(text, false);
    }
    /// Its sending has returned, so it is not lost.
    void hasSent(const std::string& text) {
        const std::lock_guard lock(mutex_);
        sent_[text] = true;
    }
    /// The messages that were sent, and whether their sending has returned.
    std::map<std::string, bool> sent() const {
        const std::lock_guard lock(mutex_);
        return sent_;
    }

    /// What else may be told: answers of models, results of clients.
    void allow(std::string text) {
        const std::lock_guard lock(mutex_);
        allowed_.insert(std::move(text));
    }
    bool allows(const std::string& text) const {
        const std::lock_guard lock(mutex_);
        return allowed_.contains(text);
    }
    /// Executions whose results are stored, so that nobody may be told otherwise, nor execute them again.
    void setCertain(std::set<std::string> certain) {
        const std::lock_guard lock(mutex_);
        certain_ = std::move(certain);
    }
    bool isCertain(const std::string& what) const {
        const std::lock_guard lock(mutex_);
        return certain_.contains(what);
    }
    std::set<std::string> certain() const {
        const std::lock_guard lock(mutex_);
        return certain_;
    }

    void complain(std::string what) {
        const std::lock_guard lock(mutex_);
        wrong_.push_back(std::move(what));
    }
    std::vector<std::string> wrong() const {
        const std::lock_guard lock(mutex_);
        return wrong_;
    }

    /// A moment at which something may happen.
    void touch() {
        std::function<void()> action;
        {
            const std::lock_guard lock(mutex_);
            if (left_ == 0 || --left_ > 0) return;
            action = std::exchange(action_, nullptr);
        }
        if (action) action();
    }
    /// Calls `action` at the nth moment from now on.
    void arm(std::size_t nth, std::function<void()> action) {
        const std::lock_guard lock(mutex_);
        left_ = nth;
        action_ = std::move(action);
    }
    /// Returns whether the action was called.
    bool disarm() {
        const std::lock_guard lock(mutex_);
        action_ = nullptr;
        return std::exchange(left_, 0) == 0;
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::vector<Execution>> journal_;
    std::set<std::string> not_run_;
    std::set<std::string> allowed_;
    std::set<std::string> certain_;
    std::map<std::string, bool> sent_;
    std::vector<std::string> wrong_;
    std::size_t left_ = 0;
    std::function<void()> action_;
};
using SharedWorld = std::shared_ptr<World>;

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A number that depends on texts and numbers alone.
inline Random randomOf(std::uint64_t seed, const std::string& text, std::uint64_t number = 0) {
    std::uint64_t hash = 0xCBF2'9CE4'8422'2325 ^ (seed * 0x9E37'79B9'7F4A'7C15);
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3;
    return Random(hash + number * 0xD1B5'4A32'D192'ED03);
}

/// A store and the processes that open it, one after the other.
class Place {
public:
    /// Most are in memory.
    explicit Place(std::uint64_t seed) {
        const std::size_t kind = seed % 8;
#if STATEGRAPH_HAS_POSTGRES
        if (kind == 6 && postgres_tests::isThere()) {
            schema_ = std::make_unique<postgres_tests::Schema>();
            is_memory_ = false;
            return;
        }
#endif
        if (kind < savers::lastingKinds().size()) {
            store_ = savers::lastingKinds()[kind].make();
            is_memory_ = false;
            is_shared_ = savers::lastingKinds()[kind].name != "RocksDB";
        } else {
            store_ = std::make_unique<savers::MemoryStore>();
        }
    }
    std::shared_ptr<sg::BaseCheckpointSaver> open() {
#if STATEGRAPH_HAS_POSTGRES
        if (schema_) return schema_->open();
#endif
        return store_->open();
    }
    /// The store as another process has it, beside one that has opened it as `opened`.
    std::shared_ptr<sg::BaseCheckpointSaver> openBeside(const std::shared_ptr<sg::BaseCheckpointSaver>& opened) {
        if (is_memory_ || !is_shared_) return std::make_shared<Door>(opened);
        return open();
    }
    bool isMemory() const noexcept { return is_memory_; }

private:
    std::unique_ptr<savers::Store> store_;
#if STATEGRAPH_HAS_POSTGRES
    std::unique_ptr<postgres_tests::Schema> schema_;
#endif
    bool is_memory_ = true;
    bool is_shared_ = true;
};

/// Everything that is stored of a thread, as bytes.
inline std::string storedBytes(sg::BaseCheckpointSaver& saver, const std::string& thread) {
    std::string all;
    for (const auto& row : saver.list({.thread_id = thread, .with_writes = true})) {
        all += row.bytes.view();
        for (const auto& write : row.writes) all += write.bytes;
    }
    return all;
}

/// The executions of the journal whose results are stored.
inline std::set<std::string> storedExecutions(const World& world, const std::string& bytes) {
    std::set<std::string> certain;
    for (const auto& [what, executions] : world.journal()) {
        for (const Execution& each : executions) {
            if (!each.result.empty() && has(bytes, each.result)) certain.insert(what);
        }
    }
    return certain;
}

}  // namespace books
