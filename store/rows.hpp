#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

/// All rows as they were at one moment. Used by one thread; no row is written by that thread meanwhile.
class View {
public:
    virtual ~View() = default;
    virtual std::optional<std::string> get(std::string_view key) = 0;
    /// Over [lower, upper). Lives no longer than the view.
    virtual std::unique_ptr<Cursor> rows(std::string lower, std::string upper) = 0;
};

struct Change {
    std::string key;
    std::optional<std::string> value;  // none: the row goes
};

/// Safe from any thread. Errors: StoreError, CorruptStoreError.
class Rows {
public:
    virtual ~Rows() = default;
    virtual std::unique_ptr<View> view() = 0;
    /// All of them or, if it throws, none. `lasting`: as durable as the store's options say; else it may get lost with
    /// the machine.
    virtual void write(std::span<const Change> changes, bool lasting) = 0;
    /// Throws StoreError if rows can only be read.
    virtual void checkWritable() const {}
    virtual bool isWritable() const noexcept { return true; }
};

}  // namespace stategraph::stores
