#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/postgres/postgres_pool.hpp"
#include "storage/postgres/postgres_row_statements.hpp"
#include "storage/store/rows.hpp"

namespace stategraph::checkpoint {

/// Rows in a transaction and over a connection of their own, from the first read on. A view for a single read has
/// neither. Errors: a store's.
class PostgresView final : public stores::View {
public:
    /// `pool` and `statements` must outlive this object.
    PostgresView(PostgresPool& pool, const PostgresRowStatements& statements, stores::Rows::Reads reads);
    ~PostgresView() override;

    std::optional<std::string> get(std::string_view key) override;
    std::unique_ptr<stores::Cursor> rows(std::string lower, std::string upper) override;

    /// Errors: also ViewLost.
    PostgresResult run(const PostgresStatement& statement, const PostgresParameters& parameters, std::string_view work);

private:
    PostgresPool& pool_;
    const PostgresRowStatements& statements_;
    std::optional<PostgresPool::Lease> lease_;
    bool has_begun_ = false;
};

}  // namespace stategraph::checkpoint
