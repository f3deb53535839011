#include "storage/postgres/postgres_values.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "src/value/bytes.hpp"

namespace stategraph::checkpoint {
namespace {

void append32(std::string& out, std::uint32_t number) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>(number >> shift & 0xffU);
}

std::string idBytes(CheckpointId id) {
    std::string bytes(16, '\0');
    id.toBytes(bytes.data());
    return bytes;
}

}  // namespace

PostgresParameters& PostgresParameters::bytes(std::string_view bytes) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
    values_.push_back(bytes.data() ? bytes.data() : "");  // with a null pointer it would be NULL
    lengths_.push_back(static_cast<int>(std::min(bytes.size(), most)));
    formats_.push_back(1);
    size_ += bytes.size();
    return *this;
}

PostgresParameters& PostgresParameters::owned(std::string bytes_given) {
    owned_.push_back(std::make_unique<std::string>(std::move(bytes_given)));
    return bytes(*owned_.back());
}

PostgresParameters& PostgresParameters::id(CheckpointId id) { return owned(idBytes(id)); }

PostgresParameters& PostgresParameters::number(std::int64_t number) {
    std::string bytes;
    detail::appendBigEndian(bytes, static_cast<std::uint64_t>(number));
    return owned(std::move(bytes));
}

PostgresParameters& PostgresParameters::limit(std::size_t limit) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    return number(static_cast<std::int64_t>(std::min(limit, most)));
}

PostgresParameters& PostgresParameters::flag(bool flag) { return bytes(std::string_view(flag ? "\1" : "\0", 1)); }

PostgresParameters& PostgresParameters::null() {
    values_.push_back(nullptr);
    lengths_.push_back(0);
    formats_.push_back(1);
    return *this;
}

void PostgresArray::add(std::string_view bytes) {
    ++count_;
    append32(elements_, static_cast<std::uint32_t>(bytes.size()));
    elements_ += bytes;
}

void PostgresArray::addId(CheckpointId id) {
    std::array<char, 16> bytes{};
    id.toBytes(bytes.data());
    add(std::string_view(bytes.data(), bytes.size()));
}

void PostgresArray::addNumber(std::int64_t number) {
    std::array<char, 8> bytes{};
    detail::storeBigEndian(static_cast<std::uint64_t>(number), bytes.data());
    add(std::string_view(bytes.data(), bytes.size()));
}

void PostgresArray::addNull() {
    constexpr std::uint32_t no_length = 0xffffffffU;
    ++count_;
    has_null_ = true;
    append32(elements_, no_length);
}

std::string PostgresArray::encoded() const {
    std::string out;
    out.reserve(20 + elements_.size());
    append32(out, count_ > 0 ? 1 : 0);
    append32(out, has_null_ ? 1 : 0);
    append32(out, element_);
    if (count_ == 0) return out;
    append32(out, count_);
    append32(out, 1);
    return out += elements_;
}

std::string_view PostgresResult::bytes(int row, int column) const noexcept {
    return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

CheckpointId PostgresResult::id(int row, int column) const noexcept {
    const std::string_view found = bytes(row, column);
    return found.size() == 16 ? CheckpointId::fromBytes(found.data()) : CheckpointId();
}

std::int64_t PostgresResult::number(int row, int column) const noexcept {
    return static_cast<std::int64_t>(detail::loadBigEndian(bytes(row, column)));
}

}  // namespace stategraph::checkpoint
