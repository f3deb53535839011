#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

#include <stategraph/ids.hpp>
#include <stategraph/saver.hpp>

// Converts parameters and results to and from PostgreSQL's binary format. Numbers are big endian. An array consists of
// its count of dimensions, a flag, its element's type, its length, its lower bound, and then each element after its
// length.
namespace stategraph::checkpoint {

inline constexpr Oid bool_type = 16;
inline constexpr Oid bytea_type = 17;
inline constexpr Oid bigint_type = 20;
inline constexpr Oid text_type = 25;
inline constexpr Oid uuid_type = 2950;
inline constexpr Oid bool_array_type = 1000;
inline constexpr Oid bytea_array_type = 1001;
inline constexpr Oid text_array_type = 1009;
inline constexpr Oid bigint_array_type = 1016;
inline constexpr Oid uuid_array_type = 2951;

/// The parameters of one execution, in order. Bytes that are passed as a view must outlive this object.
class PostgresParameters {
public:
    PostgresParameters& bytes(std::string_view bytes);
    PostgresParameters& text(std::string_view text) { return bytes(text); }
    PostgresParameters& id(CheckpointId id);
    PostgresParameters& number(std::int64_t number);
    /// Adds a limit as a number; one that is too large becomes the largest number.
    PostgresParameters& limit(std::size_t limit);
    PostgresParameters& flag(bool flag);
    PostgresParameters& null();
    PostgresParameters& log(const LogName& log) { return bytes(log.thread_id).bytes(log.checkpoint_ns); }
    /// Adds a value that this object keeps.
    PostgresParameters& owned(std::string bytes);

    int count() const noexcept { return static_cast<int>(values_.size()); }
    const char* const* values() const noexcept { return values_.data(); }
    const int* lengths() const noexcept { return lengths_.data(); }
    const int* formats() const noexcept { return formats_.data(); }
    /// Returns the size of all of them together.
    std::size_t size() const noexcept { return size_; }

private:
    std::vector<const char*> values_;
    std::vector<int> lengths_;
    std::vector<int> formats_;
    std::vector<std::unique_ptr<std::string>> owned_;
    std::size_t size_ = 0;
};

/// An array of one dimension.
class PostgresArray {
public:
    explicit PostgresArray(Oid element) : element_(element) {}
    void add(std::string_view bytes);
    void addId(CheckpointId id);
    void addFlag(bool flag) { add(std::string_view(flag ? "\1" : "\0", 1)); }
    void addNumber(std::int64_t number);
    void addNull();
    std::string encoded() const;

private:
    Oid element_;
    std::uint32_t count_ = 0;
    bool has_null_ = false;
    std::string elements_;
};

/// The rows that a statement returned.
class PostgresResult {
public:
    PostgresResult() = default;
    explicit PostgresResult(PGresult* result) : result_(result) {}

    int rows() const noexcept { return result_ ? PQntuples(result_.get()) : 0; }
    bool isNull(int row, int column) const noexcept { return PQgetisnull(result_.get(), row, column) != 0; }
    std::string_view bytes(int row, int column) const noexcept;
    std::string copy(int row, int column) const { return std::string(bytes(row, column)); }
    /// Returns none if it is null.
    CheckpointId id(int row, int column) const noexcept;
    /// Returns a number of 2, 4 or 8 bytes.
    std::int64_t number(int row, int column) const noexcept;
    bool flag(int row, int column) const noexcept { return bytes(row, column) == std::string_view("\1", 1); }

private:
    struct Clear {
        void operator()(PGresult* result) const noexcept { PQclear(result); }
    };
    std::unique_ptr<PGresult, Clear> result_;
};

}  // namespace stategraph::checkpoint
