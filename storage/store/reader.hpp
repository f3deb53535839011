#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/store.hpp>

#include "storage/store/rows.hpp"

namespace stategraph::stores {

/// Makes the reads of a batch. All of them use one moment of the rows and of the clock.
class Reader {
public:
    Reader(View& view, std::int64_t now_unix_us) : view_(view), now_(now_unix_us) {}

    std::optional<StoreItem> get(const GetOp& op, bool refresh);
    /// `vector` is that of the query, if it has one.
    std::vector<SearchItem> search(const SearchQuery& query, std::span<const float> vector, bool refresh);
    std::vector<StoreNamespace> list(const NamespaceQuery& query);

    /// Returns the items that the last search or listing could not read.
    std::vector<DamagedItem> takeDamaged() { return std::exchange(damaged_, {}); }

    /// Returns the names of items that were read and whose time to live begins again.
    const std::vector<std::string>& toRefresh() const noexcept { return to_refresh_; }

private:
    /// Calls visit(name, record) for items below the prefix that match, until it returns false.
    template <class Visit>
    void forEachMatch(const SearchQuery& query, Visit visit);
    std::vector<SearchItem> searchInOrder(const SearchQuery& query, bool refresh);
    std::vector<SearchItem> searchByScore(const SearchQuery& query, std::span<const float> vector, bool refresh);
    SearchItem read(std::string_view name, bool refresh);
    void note(std::string_view row_key, const CorruptStoreError& error);

    View& view_;
    std::int64_t now_;
    std::vector<std::string> to_refresh_;
    std::vector<DamagedItem> damaged_;
};

}  // namespace stategraph::stores
