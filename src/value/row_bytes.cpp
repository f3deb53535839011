#include <algorithm>
#include <cstring>

#include <stategraph/row_bytes.hpp>

namespace stategraph {

namespace {

// Allocates the bytes together with the counter of their owners.
std::shared_ptr<char> makePart(std::size_t size) {
    const auto part = std::make_shared_for_overwrite<char[]>(size);
    return {part, part.get()};
}

}  // namespace

RowBytes::RowBytes(std::string bytes) {
    const auto owner = std::make_shared<const std::string>(std::move(bytes));
    bytes_ = *owner;
    owner_ = owner;
}

RowBytes::RowBytes(std::string_view bytes) {
    if (bytes.empty()) return;
    const auto part = makePart(bytes.size());
    std::memcpy(part.get(), bytes.data(), bytes.size());
    bytes_ = {part.get(), bytes.size()};
    owner_ = part;
}

RowBytes RowBuffer::add(std::string_view bytes) {
    constexpr std::size_t part_max = std::size_t{256} * 1024;
    if (bytes.empty()) return {};
    if (bytes.size() >= part_max) return RowBytes(bytes);  // saves the rest of the part for later rows
    if (bytes.size() > left_) {
        // Without an expectation, each part is as large as all parts before it, so that a lone row has no unused room
        // after it.
        const std::size_t wanted = expected_ > taken_ ? expected_ - taken_ : taken_;
        const std::size_t room = std::max(bytes.size(), std::min(wanted, part_max));
        part_ = makePart(room);
        next_ = part_.get();
        left_ = room;
    }
    std::memcpy(next_, bytes.data(), bytes.size());
    RowBytes row({next_, bytes.size()}, part_);
    next_ += bytes.size();
    left_ -= bytes.size();
    taken_ += bytes.size();
    return row;
}

}  // namespace stategraph
