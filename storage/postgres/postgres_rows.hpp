#pragma once
#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "storage/postgres/postgres_pool.hpp"
#include "storage/postgres/postgres_row_statements.hpp"
#include "storage/store/rows.hpp"

namespace stategraph::checkpoint {

/// A store's rows in a PostgreSQL schema. It throws a store's errors.
class PostgresRows final : public stores::Rows {
public:
    /// `pool` must outlive this object.
    PostgresRows(PostgresPool& pool, const PostgresPoolSettings& settings, bool sync);

    std::unique_ptr<stores::View> view(Reads reads) override;
    void update(std::span<const std::string> keys, const stores::Edit& edit, bool lasting) override;
    void checkWritable() const override;
    bool isWritable() const noexcept override { return !is_read_only_; }

private:
    struct Request;
    struct Attempt;

    void tryUpdate(PostgresConnection& connection, const Request& request, Attempt& attempt);
    PostgresResult begin(PostgresConnection& connection, const Request& request, Attempt& attempt);
    void commit(PostgresConnection& connection, Attempt& attempt);
    bool wasStored(const Attempt& attempt, bool is_lasting);
    bool isThere(PostgresConnection& connection, const Attempt& attempt) const;

    PostgresPool& pool_;
    const PostgresRowStatements statements_;
    const bool is_read_only_;
    const bool sync_;
    const std::chrono::milliseconds patience_;  // with a transaction whose connection is lost
};

}  // namespace stategraph::checkpoint
