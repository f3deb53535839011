#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/error.hpp>

// Ordered rows of bytes. This is the part in which kinds of stores differ.
namespace stategraph::stores {

/// Walks rows in the order of their keys, between bounds. Views are valid until it moves.
class Cursor {
public:
    virtual ~Cursor() = default;
    /// Moves to the first row at or after the key. Returns false if there is none.
    virtual bool seek(std::string_view key) = 0;
    virtual bool next() = 0;
    virtual std::string_view key() const = 0;
    virtual std::string_view value() const = 0;
};

/// Finds rows by their keys.
class Lookup {
public:
    virtual ~Lookup() = default;
    virtual std::optional<std::string> get(std::string_view key) = 0;
};

/// Thrown if a view was lost together with its connection. Nothing was changed, and the same reads may be made once
/// more.
class ViewLost : public StoreError {
public:
    using StoreError::StoreError;
};

/// All rows as they were at one moment. Used by one thread, which writes no row meanwhile.
class View : public Lookup {
public:
    /// Returns a cursor over [lower, upper). It must not outlive the view.
    virtual std::unique_ptr<Cursor> rows(std::string lower, std::string upper) = 0;
};

struct Change {
    std::string key;
    std::optional<std::string> value;  // none removes the row
};

/// Maps the current rows to the changes in them. It reads only the keys that its update names, may be called more than
/// once, and locks nothing. If one key is changed several times, the last change counts.
using Edit = std::function<std::vector<Change>(Lookup& rows)>;

/// Safe from any thread. Errors: StoreError, CorruptStoreError.
class Rows {
public:
    /// What a view is for. `one`: a single `get`, or a cursor whose rows need not be from one moment. `many`: several
    /// reads. `again`: like `many`, after a view was lost.
    enum class Reads : std::uint8_t { one, many, again };

    virtual ~Rows() = default;
    virtual std::unique_ptr<View> view(Reads reads) = 0;
    /// Makes all changes that `edit` returns or, if it throws, none. Between the read of a row that `keys` names and
    /// its change, no other update of that row happens, not even by another process that has the rows open. `keys` must
    /// be sorted and unique. With `lasting`, the changes are as durable as the store's options say; without it, they
    /// may be lost if the machine fails.
    virtual void update(std::span<const std::string> keys, const Edit& edit, bool lasting) = 0;
    /// Throws StoreError if rows can only be read.
    virtual void checkWritable() const {}
    virtual bool isWritable() const noexcept { return true; }
};

/// Rows that one process writes, through one engine, whose locks keep other updates of a row away.
class OwnRows : public Rows {
public:
    /// Makes all changes or, if it throws, none.
    virtual void write(std::span<const Change> changes, bool lasting) = 0;

    void update(std::span<const std::string> keys, const Edit& edit, bool lasting) final;
};

}  // namespace stategraph::stores
