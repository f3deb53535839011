#include "storage/postgres/postgres_view.hpp"

#include <algorithm>
#include <utility>

namespace stategraph::checkpoint {
namespace {

constexpr std::size_t page_rows_first = 32;
constexpr std::size_t page_rows_max = 1024;

/// Walks over pages whose size grows.
class PostgresCursor final : public stores::Cursor {
public:
    PostgresCursor(PostgresView& view, const PostgresStatement& page, std::string lower, std::string upper)
        : view_(view), statement_(page), lower_(std::move(lower)), upper_(std::move(upper)) {}

    bool seek(std::string_view key) override {
        const std::string from(std::max(key, std::string_view(lower_)));
        if (from >= upper_) return false;
        if (count_ == 0 || from < from_ || (!is_last_ && from > keyOf(count_ - 1))) return load(from);
        int first = 0;
        for (int left = count_; left > 0;) {
            const int half = left / 2;
            if (keyOf(first + half) < from) {
                first += half + 1;
                left -= half + 1;
            } else {
                left = half;
            }
        }
        row_ = first;
        return row_ < count_;
    }
    bool next() override {
        if (++row_ < count_) return true;
        if (is_last_) return false;
        return load(std::string(keyOf(count_ - 1)) + '\0');
    }
    std::string_view key() const override { return keyOf(row_); }
    std::string_view value() const override { return page_.bytes(row_, 1); }

private:
    std::string_view keyOf(int row) const { return page_.bytes(row, 0); }

    bool load(std::string from) {
        from_ = std::move(from);
        PostgresParameters parameters;
        addPostgresKey(parameters, from_);
        addPostgresKey(parameters, upper_);
        page_ = view_.run(statement_, parameters.limit(limit_), "read items");
        count_ = 0;
        while (count_ < page_.rows() && !page_.isNull(count_, 1)) ++count_;
        is_last_ = count_ == page_.rows() && static_cast<std::size_t>(count_) < limit_;
        limit_ = std::min(4 * limit_, page_rows_max);
        row_ = 0;
        return count_ > 0;
    }

    PostgresView& view_;
    const PostgresStatement& statement_;
    std::string lower_;
    std::string upper_;
    std::size_t limit_ = page_rows_first;
    // The page contains the rows from the key `from_` on.
    std::string from_;
    PostgresResult page_;
    int count_ = 0;
    bool is_last_ = false;
    int row_ = 0;
};

}  // namespace

PostgresView::PostgresView(PostgresPool& pool, const PostgresRowStatements& statements, stores::Rows::Reads reads)
    : pool_(pool), statements_(statements) {
    if (reads == stores::Rows::Reads::one) return;
    const auto kind =
        reads == stores::Rows::Reads::again ? PostgresPool::Lease::Kind::made_anew : PostgresPool::Lease::Kind::any;
    asStore([&] { lease_.emplace(pool, kind); });
}

PostgresView::~PostgresView() {
    if (has_begun_) rollBackPostgres(**lease_);
}

std::optional<std::string> PostgresView::get(std::string_view key) {
    PostgresParameters parameters;
    addPostgresKey(parameters, key);
    const PostgresResult rows = run(statements_.get, parameters, "read an item");
    return rows.rows() == 0 ? std::nullopt : std::optional(rows.copy(0, 0));
}

PostgresResult PostgresView::run(const PostgresStatement& statement, const PostgresParameters& parameters,
                                 std::string_view work) {
    return asStore([&] {
        if (!lease_)
            return pool_.repeat(
                [&](PostgresConnection& connection) { return connection.run(statement, parameters, work); });
        try {
            if (has_begun_) return (*lease_)->run(statement, parameters, work);
            const PostgresParameters none;
            const PostgresConnection::Step steps[] = {{statements_.begin_reading, none}, {statement, parameters}};
            has_begun_ = true;
            return std::move((*lease_)->runAll(steps, work).back());
        } catch (const PostgresLost& error) {
            has_begun_ = false;
            throw stores::ViewLost(error.message());
        }
    });
}

std::unique_ptr<stores::Cursor> PostgresView::rows(std::string lower, std::string upper) {
    return std::make_unique<PostgresCursor>(*this, statements_.page, std::move(lower), std::move(upper));
}

}  // namespace stategraph::checkpoint
