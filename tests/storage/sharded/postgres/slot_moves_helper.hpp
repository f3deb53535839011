#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_shards.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/sharded/postgres/postgres_shards_helper.hpp"
#include "tests/support/shared_threads.hpp"
#include "tests/support/until.hpp"

// One slot, clusters on two servers, and writers, for tests of moves.
namespace slot_moves {

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;
using namespace std::chrono_literals;

inline constexpr std::size_t slot = 77;  // of cluster a

/// Two servers, which all cases use.
inline Clusters& twoServers() {
    static const Server other;
    static Clusters clusters({conninfo(), other.conninfo()});
    return clusters;
}
inline Clusters makeClusters() { return Clusters({twoServers().server(0), twoServers().server(1)}); }

/// All that a saver shows of threads, as text.
inline std::string contentOf(BaseCheckpointSaver& saver, const std::vector<std::string>& threads) {
    std::string text;
    for (const std::string& thread : threads) {
        for (const auto& row : saver.list({.thread_id = thread, .with_writes = true})) {
            text += thread + '|' + row.checkpoint_ns + '|' + row.id.toString() + '|' +
                    std::string(std::string_view(row.bytes)) + '\n';
            for (const auto& write : row.writes) text += write.path + '=' + write.bytes + '\n';
        }
    }
    return text;
}

/// Writers of this process, each on a thread of its own of the slot, through a saver of its own, or all through one, so
/// that their puts are joined. What it was told is stored is noted.
class Writers {
public:
    enum class Savers : std::uint8_t { own, shared };
    Writers(const Clusters& clusters, int count, Savers savers = Savers::own) {
        for (int i = 0; i < count; ++i) {
            names_.push_back(nameIn(slot, i));
            savers_.push_back(savers == Savers::shared && i > 0 ? savers_[0] : clusters.openSaver());
        }
        notes_.resize(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { write(static_cast<std::size_t>(i)); });
    }
    ~Writers() { stop(); }

    void stop() {
        is_stopping_ = true;
        for (auto& each : threads_) {
            if (each.joinable()) each.join();
        }
    }
    std::size_t stored() const { return stored_; }
    void awaitMore(std::size_t count) const {
        const std::size_t before = stored_;
        CHECK(patience::eventually([&] { return stored_ >= before + count || has_failed_; }));
        CHECK(stored_ >= before + count);
    }
    /// Every commit that a writer was told of is in its thread, in the order in which it was told, and the thread is
    /// one line.
    void check(BaseCheckpointSaver& saver) const {
        CHECK(error_ == "");
        for (std::size_t i = 0; i < names_.size(); ++i) {
            std::set<std::string> ids;
            shared_threads::checkLine(saver, names_[i], ids);
            std::vector<CheckpointId> stored = listIds(saver, {names_[i]});
            std::reverse(stored.begin(), stored.end());
            CHECK(stored == notes_[i]);
        }
    }
    const std::vector<std::string>& names() const { return names_; }

private:
    void write(std::size_t i) {
        try {
            CheckpointId head;
            for (unsigned n = 1; !is_stopping_; ++n) {
                const CheckpointId id = nthId(n);
                putOne(*savers_[i], {names_[i]}, head,
                       makeCommit(
                           {.id = id, .parent = head, .step = n, .changes = {{.channel = "n", .value = Value(1)}}}));
                if (n % 7 == 0) putWrite(*savers_[i], {names_[i]}, id, id, "p" + std::to_string(n), "bytes");
                if (n % 50 == 0 && savers_[i]->getTuple({.log = {names_[i]}})->head != id)
                    throw std::runtime_error("a read found another head");
                head = id;
                notes_[i].push_back(id);
                ++stored_;
            }
        } catch (const std::exception& error) {
            const std::lock_guard lock(mutex_);
            error_ += names_[i] + ": " + error.what() + "\n";
            has_failed_ = true;
        }
    }

    std::vector<std::string> names_;
    std::vector<std::shared_ptr<ShardedSaver>> savers_;
    std::vector<std::vector<CheckpointId>> notes_;
    std::atomic<bool> is_stopping_{false};
    std::atomic<bool> has_failed_{false};
    std::atomic<std::size_t> stored_{0};
    std::mutex mutex_;
    std::string error_;
    std::vector<std::thread> threads_;
};

inline SlotMoveReport moveTo(PostgresShards& shards, const std::string& to, const SlotMoveOptions& options = {}) {
    const std::size_t slots[] = {slot};
    return shards.moveSlots(slots, to, options);
}

/// The same next to writers, as often as a write takes longer on a busy machine than a move waits for it.
inline SlotMoveReport moveBesideWriters(PostgresShards& shards, const std::string& to,
                                        const SlotMoveOptions& options = {}) {
    SlotMoveReport report;
    patience::until([&] {
        try {
            report = moveTo(shards, to, options);
            return true;
        } catch (const SaverError&) {
            return false;
        }
    });
    return report;
}

inline std::string stateOf(const Clusters& clusters, std::size_t cluster) {
    return clusters.run(cluster, "SELECT state FROM {S}.slots WHERE slot = " + std::to_string(slot));
}

}  // namespace slot_moves
