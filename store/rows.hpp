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

// Ordered rows of bytes: the part in which kinds of stores differ.
namespace stategraph::stores {

/// Walks rows in the order of their keys, between bounds. Views are valid until it moves.
class Cursor {
public:
    virtual ~Cursor() = default;
    /// To the first row at or after the key; false: there is none.
    virtual bool seek(std::string_view key) = 0;
    virtual bool next() = 0;
    virtual std::string_view key() const = 0;
    virtual std::string_view value() const = 0;
};

/// Rows by their keys.
class Lookup {
public:
    virtual ~Lookup() = default;
    virtual std::optional<std::string> get(std::string_view key) = 0;
};

/// A view is gone with its connection, and nothing was changed: the same reads may be made once more.
class ViewLost : public StoreError {
public:
    using StoreError::StoreError;
};

/// All rows as they were at one moment. Used by one thread; no row is written by that thread meanwhile.
class View : public Lookup {
public:
    /// Over [lower, upper). Lives no longer than the view.
    virtual std::unique_ptr<Cursor> rows(std::string lower, std::string upper) = 0;
};

struct Change {
    std::string key;
    std::optional<std::string> value;  // none: the row goes
};

/// From rows as they are to what is to change in them. It reads only the keys that its update names, may be called more
/// than once, and locks nothing. Of several changes of one key the last one counts.
using Edit = std::function<std::vector<Change>(Lookup& rows)>;

/// Safe from any thread. Errors: StoreError, CorruptStoreError.
class Rows {
public:
    /// What a view is for: `one`: a single `get`, or a cursor whose rows need not be of one moment; `again`: as `many`,
    /// after a view was lost.
    enum class Reads : std::uint8_t { one, many, again };

    virtual ~Rows() = default;
    virtual std::unique_ptr<View> view(Reads reads) = 0;
    /// Makes the changes that `edit` returns: all of them or, if it throws, none. From the read of a row that `keys`
    /// names to its change no other update of it comes between, also of another process that has the rows open. `keys`
    /// are sorted and unique. `lasting`: as durable as the store's options say; else it may get lost with the machine.
    virtual void update(std::span<const std::string> keys, const Edit& edit, bool lasting) = 0;
    /// Throws StoreError if rows can only be read.
    virtual void checkWritable() const {}
    virtual bool isWritable() const noexcept { return true; }
};

/// Rows that one process writes, through one engine, whose locks keep other updates of a row away.
class OwnRows : public Rows {
public:
    /// All of them or, if it throws, none.
    virtual void write(std::span<const Change> changes, bool lasting) = 0;

    void update(std::span<const std::string> keys, const Edit& edit, bool lasting) final;
};

}  // namespace stategraph::stores
