#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/postgres_shards.hpp>
#include <stategraph/sharded_saver.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"

// Clusters for tests.
namespace postgres_tests {

/// Schemas "a", "b", … of one server, or of as many servers.
class Clusters {
public:
    explicit Clusters(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) add(conninfo());
    }
    explicit Clusters(const std::vector<std::string>& servers) {
        for (const std::string& server : servers) add(server);
    }

    const std::vector<stategraph::PostgresCluster>& settings() const noexcept { return settings_; }
    const std::string& schema(std::size_t i) const { return schemas_[i]->name(); }
    const std::string& server(std::size_t i) const { return settings_[i].conninfo; }
    stategraph::PostgresSaverOptions& options(std::size_t i) { return settings_[i].options; }

    void setUp() const { stategraph::PostgresShards::setUp(settings_); }
    std::shared_ptr<stategraph::PostgresShards> open() const {
        return std::make_shared<stategraph::PostgresShards>(settings_);
    }
    std::shared_ptr<stategraph::ShardedSaver> openSaver(stategraph::ShardedSaverOptions options = {}) const {
        if (options.move_wait == stategraph::ShardedSaverOptions().move_wait)
            options.move_wait = std::chrono::minutes(5);  // a busy machine may hold up a move
        return std::make_shared<stategraph::ShardedSaver>(open(), options);
    }
    /// The first column of a statement on one of them; {S} is its schema.
    std::string run(std::size_t i, std::string sql) const {
        for (std::size_t at = sql.find("{S}"); at != std::string::npos; at = sql.find("{S}"))
            sql.replace(at, 3, schema(i));
        return Raw(server(i)).run(sql);
    }
    /// How many rows of a slot's threads it has, in all tables.
    std::string rowsOf(std::size_t i, std::size_t slot) const {
        const std::string number = std::to_string(slot);
        return run(i,
                   "SELECT (SELECT count(*) FROM {S}.logs l LEFT JOIN {S}.commits c USING (log) WHERE "
                   "{S}.slot_of(l.thread) = " +
                       number +
                       ") + (SELECT count(*) FROM {S}.inputs WHERE "
                       "{S}.slot_of(thread) = " +
                       number +
                       ") + (SELECT count(*) FROM {S}.work WHERE "
                       "{S}.slot_of(thread) = " +
                       number + ") + (SELECT count(*) FROM {S}.touched WHERE slot = " + number + ")");
    }

private:
    void add(const std::string& server) {
        schemas_.push_back(std::make_unique<Schema>(server));
        settings_.push_back(
            {.name = std::string(1, static_cast<char>('a' + settings_.size())),
             .conninfo = server,
             .options = patient<stategraph::PostgresSaverOptions>({.schema = schemas_.back()->name()})});
    }

    std::vector<std::unique_ptr<Schema>> schemas_;
    std::vector<stategraph::PostgresCluster> settings_;
};

/// The n-th name of a thread in this slot.
inline std::string nameIn(std::size_t slot, int number = 0) {
    for (int i = 0;; ++i) {
        std::string name = "thread " + std::to_string(i);
        if (stategraph::slotOf(name) == slot && number-- == 0) return name;
    }
}

}  // namespace postgres_tests
