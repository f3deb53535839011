#include "storage/rocksdb/rocksdb_errors.hpp"

#include <rocksdb/status.h>

#include <stategraph/error.hpp>

namespace stategraph::checkpoint {

// Returns the path for messages. A path with a NUL is refused, and the message shows all of it.
std::string DatabaseErrors::shownPath() const {
    std::string shown = "'";
    for (const char c : path_) c == '\0' ? shown += "\\0" : shown += c;
    return shown += '\'';
}

void DatabaseErrors::refuseOpening(const std::string& why) const {
    const std::string text = "cannot open the database " + shownPath() + ": " + why;
    if (owner_ == DatabaseOwner::store) throw StoreError(text);
    throw SaverError(text);
}

void DatabaseErrors::fail(const std::string& what) const {
    const std::string text = "the database " + shownPath() + ": " + what;
    if (owner_ == DatabaseOwner::store) throw StoreError(text);
    throw SaverError(text);
}

void DatabaseErrors::failDamaged(const std::string& what) const { failUnreadable("is damaged: " + what); }

void DatabaseErrors::failUnreadable(const std::string& what) const {
    const std::string text = "the database " + shownPath() + " " + what;
    if (owner_ == DatabaseOwner::store) throw CorruptStoreError(text);
    throw CorruptCheckpointError(text);
}

void DatabaseErrors::failStatus(const rocksdb::Status& status, std::string_view work, std::string_view advice) const {
    const std::string text = "could not " + std::string(work) + ": " + status.ToString();
    if (status.IsCorruption()) failDamaged(text + "; restore it from a copy");
    fail(advice.empty() ? text : text + "; " + std::string(advice));
}

void DatabaseErrors::check(const rocksdb::Status& status, std::string_view work) const {
    if (!status.ok()) failStatus(status, work);
}

}  // namespace stategraph::checkpoint
