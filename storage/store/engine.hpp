#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/id_source.hpp>
#include <stategraph/store.hpp>

#include "src/value/times.hpp"
#include "storage/store/paths.hpp"
#include "storage/store/rows.hpp"
#include "storage/store/vectors.hpp"

namespace stategraph::stores {

/// Implements what all stores do, on top of rows. Safe from any thread. No lock is held while the user's code runs.
class Engine {
public:
    /// Throws InvalidArgumentError for invalid options. `rows` must outlive the engine.
    Engine(const StoreOptions& options, Rows& rows);

    std::vector<StoreResult> apply(std::span<const StoreOp> ops);
    std::size_t sweep();

private:
    struct Put {
        const PutOp* op = nullptr;
        std::size_t vectors = 0;  // the place of its vectors in the embedding
    };
    struct Plan;
    /// Changes to several items while those are locked.
    class Changes;

    std::int64_t now() const { return times::nowUs(*clock_); }
    bool refreshes(const std::optional<bool>& wanted) const {
        return wanted.value_or(options_.refresh_on_read) && rows_.isWritable();
    }
    void readAll(std::span<const StoreOp> ops, Plan& plan, std::vector<StoreResult>& results);
    void readAll(std::span<const StoreOp> ops, Plan& plan, Rows::Reads reads, std::vector<StoreResult>& results);
    void write(const Plan& plan);
    void refresh(const std::vector<std::string>& names, std::int64_t now_unix_us);
    std::vector<std::string> findOver(std::int64_t now_unix_us, std::size_t most);
    /// Lets `edit` note changes to the items with these names, and then makes the changes.
    void update(const std::set<std::string_view>& names, std::int64_t now_unix_us, bool lasting,
                const std::function<void(Changes&)>& edit);
    std::vector<std::unique_lock<std::mutex>> lock(const std::set<std::string_view>& names);

    StoreOptions options_;
    std::unique_ptr<Rows> sealed_rows_;  // used with a cipher
    Rows& rows_;
    IdSource* clock_;  // the options keep it alive
    std::vector<TextPath> fields_;
    // A thread that reads an item in order to write it holds its mutex, which is found by the item's name. Several
    // mutexes are locked in the order of this array. The rows order the changes of other processes.
    std::array<detail::Mutex, 32> mutexes_;
};

}  // namespace stategraph::stores
