#include "src/checkpoint/repeated_values.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include <stategraph/detail/staged_encoder.hpp>

#include "src/checkpoint/record_parts.hpp"

namespace stategraph::checkpoint {
namespace {

// The values that a list of writes has for channels that are written once.
class WrittenValues {
public:
    explicit WrittenValues(std::string_view writes) : writes_(readWrites(writes)) {
        std::stable_sort(writes_.begin(), writes_.end(), byChannel);
    }
    std::optional<std::string_view> find(std::string_view channel) const {
        const auto [first, last] = std::equal_range(writes_.begin(), writes_.end(), LoggedWrite{channel}, byChannel);
        if (last - first != 1 || first->kind == WriteKind::clear) return {};
        return first->value;
    }

private:
    static bool byChannel(const LoggedWrite& a, const LoggedWrite& b) noexcept { return a.channel < b.channel; }
    std::vector<LoggedWrite> writes_;
};

// An entry of a commit's operations in written form.
struct NamedEntry {
    std::string_view bytes;
    std::string_view channel;
    LogOp op = LogOp::clear;
    std::string_view value;
};

NamedEntry readNamedEntry(Decoder& in) {
    const std::string_view before = in.rest();
    NamedEntry entry;
    entry.channel = in.text();
    const std::size_t parts = in.array();
    entry.op = static_cast<LogOp>(in.text().front());
    if (parts == 2) entry.value = in.raw();
    entry.bytes = before.substr(0, before.size() - in.rest().size());
    return entry;
}

bool mayBeNamed(const LoggedWrite& write) noexcept {
    return !write.as_logged && write.kind != WriteKind::overwrite && write.kind != WriteKind::clear &&
           write.value.size() >= repeated_bytes_min;
}

}  // namespace

bool nameInputValues(std::string& entries, std::string_view input) {
    if (entries.size() < repeated_bytes_min || input.size() < repeated_bytes_min) return false;
    const WrittenValues written(input);
    bool named = false;
    std::size_t end = 0;  // the end of the bytes that are kept, in the same buffer
    Decoder in(entries);
    while (!in.atEnd()) {
        const NamedEntry entry = readNamedEntry(in);
        const bool may = entry.value.size() >= repeated_bytes_min && entry.op != LogOp::edit;
        const bool names = may && written.find(entry.channel) == entry.value;
        // An entry has the form text(name) array(2) text(op) value. In the shortened form, the text of the operation
        // replaces the array.
        const std::size_t size = entry.bytes.size() - (names ? entry.value.size() + 3 : 0);
        char* const to = entries.data() + end;
        std::memmove(to, entry.bytes.data(), size);
        end += size;
        if (!names) continue;
        entries[end++] = '\x61';
        entries[end++] = static_cast<char>(entry.op);
        named = true;
    }
    entries.resize(end);
    return named;
}

void takeInputValues(std::span<LoggedOp> operations, std::optional<std::string_view> input) {
    std::optional<WrittenValues> written;
    for (LoggedOp& operation : operations) {
        if (!operation.is_as_input) continue;
        if (!written && input) written.emplace(*input);
        const auto value = written ? written->find(operation.channel) : std::nullopt;
        if (!value) {
            throw WrongTypeError(
                "the operation on channel '" + std::string(operation.channel) +
                "' has the value of the parent's input, which does not write that channel exactly once");
        }
        operation.value = *value;
    }
}

namespace {

// The parts of a list of writes or of operations, one after the other. The size of each is known, or found by decoding.
class Parts {
public:
    // Sizes that do not fit are not used.
    Parts(std::string_view bytes, std::span<const std::uint32_t> sizes) noexcept
        : rest_(bytes),
          sizes_(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) == bytes.size()
                     ? sizes
                     : std::span<const std::uint32_t>()) {}
    bool atEnd() const noexcept { return rest_.empty(); }

    std::string_view nextWrite(LoggedWrite& write) {
        Decoder in(rest_);
        if (sizes_.empty()) {
            write = readWrite(in, true);
            return take(rest_.size() - in.rest().size());
        }
        // The head of a list of 1 to 3 parts, the channel, the text of a letter, and the value.
        const std::string_view part = takeKnown();
        in = Decoder(part.substr(1));
        write = {.channel = in.text()};
        write.as_logged = in.atEnd();
        if (write.as_logged) return part;
        write.kind = static_cast<WriteKind>(in.rest()[1]);
        write.value = in.rest().substr(2);
        return part;
    }
    NamedEntry nextEntry() {
        Decoder in(rest_);
        NamedEntry entry;
        if (sizes_.empty()) {
            entry = readNamedEntry(in);
            take(entry.bytes.size());
            return entry;
        }
        // The channel, the head of a list of 1 or 2 parts, the text of a letter, and the value.
        entry.bytes = takeKnown();
        in = Decoder(entry.bytes);
        entry.channel = in.text();
        entry.op = static_cast<LogOp>(in.rest()[2]);
        entry.value = in.rest().substr(3);
        return entry;
    }

private:
    std::string_view take(std::size_t size) noexcept {
        const std::string_view part = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return part;
    }
    std::string_view takeKnown() noexcept { return take(sizes_[next_++]); }

    std::string_view rest_;
    std::span<const std::uint32_t> sizes_;
    std::size_t next_ = 0;
};

constexpr std::size_t named_writes_max = 32;  // the limit exists because each write is looked for among all entries

// The names of channels, each once.
class Names {
public:
    void add(std::string_view name) noexcept {
        const auto isIt = [name](const Name& each) { return std::string_view(each.text, each.size) == name; };
        if (std::any_of(names_.begin(), names_.begin() + size_, isIt)) return;
        names_[static_cast<std::size_t>(size_++)] = {name.data(), name.size()};
    }
    std::size_t size() const noexcept { return static_cast<std::size_t>(size_); }

private:
    // Not a view, so that creating the array does not fill it with zeros.
    struct Name {
        const char* text;
        std::size_t size;
    };
    std::array<Name, named_writes_max> names_;
    std::ptrdiff_t size_ = 0;
};

// The entries of a commit's operations, each read once. The first few need no allocation.
class Entries {
public:
    Entries(std::string_view bytes, std::span<const std::uint32_t> sizes) {
        for (Parts parts(bytes, sizes); !parts.atEnd();) {
            const NamedEntry entry = parts.nextEntry();
            count_ += entry.op != LogOp::clear;
            if (entry.value.size() < repeated_bytes_min) continue;  // no write names it
            if (few_size_ < few_.size()) {
                few_[few_size_++] = {entry.channel, entry.value};
            } else {
                many_.push_back({entry.channel, entry.value});
            }
        }
    }
    bool has(const LoggedWrite& write) const {
        const auto isIt = [&write](const Entry& entry) {
            return entry.value.size() == write.value.size() && entry.channel == write.channel &&
                   entry.value == write.value;
        };
        return std::any_of(few_.begin(), few_.begin() + few_size_, isIt) || std::ranges::any_of(many_, isIt);
    }
    /// Returns how many are no clears.
    std::size_t count() const noexcept { return count_; }

private:
    struct Entry {
        std::string_view channel;
        std::string_view value;
    };
    std::array<Entry, 4> few_;
    std::uint32_t few_size_ = 0;
    std::vector<Entry> many_;
    std::size_t count_ = 0;
};

}  // namespace

bool nameLoggedValues(std::string_view writes, std::string_view entries, std::string& out) {
    return nameLoggedValues(writes, entries, {}, out);
}

bool nameLoggedValues(std::string_view writes, std::string_view entries, const PartSizes& sizes, std::string& out) {
    Decoder in(writes);
    const std::size_t count = in.array();
    if (count > named_writes_max) return false;
    const Entries entries_of_log(entries, sizes.entries);
    out.clear();
    detail::StagedEncoder encoder(out);
    encoder.array(count);
    Names named;
    LoggedWrite write;
    for (Parts parts(in.rest(), sizes.writes); !parts.atEnd();) {
        const std::string_view part = parts.nextWrite(write);
        const bool names = mayBeNamed(write) && entries_of_log.has(write);
        if (names) {
            encoder.array(1);
            encoder.text(write.channel);
        } else {
            encoder.raw(part);
        }
        if (names || write.as_logged) named.add(write.channel);
    }
    // Without a list, the operations are the writes.
    if (named.size() < count || entries_of_log.count() != count) {
        encoder.finish();
    } else {
        out.clear();
    }
    return true;
}

}  // namespace stategraph::checkpoint
