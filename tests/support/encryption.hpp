#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <stategraph/encrypted_saver.hpp>
#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver_rules.hpp>

// Keys that are easy to distinguish, and a store whose owner is not trusted.
namespace encryption {

namespace sg = stategraph;

inline std::array<unsigned char, 32> keyBytes(unsigned char seed) {
    std::array<unsigned char, 32> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(seed + 7 * i);
    return bytes;
}
inline sg::EncryptionOptions key(const std::string& id, unsigned char seed = 1) {
    return sg::EncryptionOptions::withKey(id, keyBytes(seed));
}

/// Several keys by id, one of which is current; counts the lookups.
struct KeyTable {
    std::map<std::string, unsigned char> seeds;
    std::string current;
    std::size_t finds = 0;
    std::size_t cached_keys_max = 64;

    sg::EncryptionOptions options() {
        return {.current_key = [this] { return sg::EncryptionKey(current, keyBytes(seeds.at(current))); },
                .find_key = [this](std::string_view id) -> std::optional<sg::EncryptionKey> {
                    ++finds;
                    const auto at = seeds.find(std::string(id));
                    if (at == seeds.end()) return std::nullopt;
                    return sg::EncryptionKey(at->first, keyBytes(at->second));
                },
                .cached_keys_max = cached_keys_max};
    }
};

/// A memory saver that can change what is read, can refuse writes, and honours WriteRow::expected.
class UntrustedSaver final : public sg::BaseCheckpointSaver {
public:
    /// Called for each row that is read; may replace its bytes.
    std::function<void(const sg::RowKey&, std::string&)> alter;
    /// Called before each put; may throw.
    std::function<void(const sg::PutRequest&)> before_put;

    void put(const sg::PutRequest& request) override {
        if (before_put) before_put(request);
        const std::lock_guard lock(mutex_);
        const auto tuple = inner_.getTuple({.log = request.log});
        const sg::CheckpointId head = tuple ? tuple->head : sg::CheckpointId();
        if (head != request.expected_head) sg::checkpoint::refuseHead(request.log, request.expected_head, head);
        std::vector<sg::WriteRow> rows(request.writes.begin(), request.writes.end());
        for (auto& row : rows) {
            if (row.expected && held(request.log, row) != *row.expected) {
                sg::checkpoint::refuseWrite(request.log, row);
            }
            row.expected.reset();
        }
        inner_.put({request.log, request.expected_head, request.commits, rows, request.sync});
    }
    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
        auto tuple = inner_.getTuple(query);
        if (!tuple || !alter) return tuple;
        const auto& [thread_id, ns] = query.log;
        for (auto& row : tuple->commits) alterRow({thread_id, ns, row.id}, row.bytes);
        for (auto& row : tuple->writes) alter({thread_id, ns, tuple->id, row.path}, row.bytes);
        if (tuple->next) alterRow({thread_id, ns, tuple->next->id}, tuple->next->bytes);
        return tuple;
    }
    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override {
        auto listed = inner_.list(query);
        if (!alter) return listed;
        for (auto& row : listed) {
            alterRow({row.thread_id, row.checkpoint_ns, row.id}, row.bytes);
            for (auto& write : row.writes) alter({row.thread_id, row.checkpoint_ns, row.id, write.path}, write.bytes);
        }
        return listed;
    }
    void deleteThread(std::string_view thread_id) override { inner_.deleteThread(thread_id); }
    void copyThread(std::string_view from, std::string_view to) override { inner_.copyThread(from, to); }
    std::size_t prune(const sg::PruneRequest& request) override { return inner_.prune(request); }
    std::optional<std::uint64_t> storedBytes() override { return 4711; }
    bool putIsSlow() const noexcept override { return is_slow; }

    bool is_slow = false;

private:
    void alterRow(const sg::RowKey& key, sg::RowBytes& bytes) const {
        std::string altered(bytes);
        alter(key, altered);
        bytes = std::move(altered);
    }
    std::string held(const sg::LogName& log, const sg::WriteRow& row) {
        const auto tuple = inner_.getTuple({.log = log, .checkpoint_id = row.checkpoint_id});
        if (!tuple) return {};
        for (const auto& write : tuple->writes) {
            if (write.path == row.path) return write.bytes;
        }
        return {};
    }

    std::mutex mutex_;
    sg::MemorySaver inner_;
};

/// The exception that a call throws, as "CorruptCheckpointError: …"; empty if it throws none.
template <class F>
std::string errorOf(F call) {
    try {
        call();
    } catch (const sg::CorruptCheckpointError& error) {
        return "CorruptCheckpointError: " + error.message();
    } catch (const sg::ConcurrentUpdateError& error) {
        return "ConcurrentUpdateError: " + error.message();
    } catch (const sg::InvalidArgumentError& error) {
        return "InvalidArgumentError: " + error.message();
    } catch (const std::exception& error) {
        return error.what();
    }
    return {};
}
inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace encryption
