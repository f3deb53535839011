#include "checkpoint/repeated_values.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "checkpoint/record_parts.hpp"

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

bool nameLoggedValues(std::string_view writes, std::string_view entries, std::string& out) {
    constexpr std::size_t writes_max = 32;  // the limit exists because each write is looked for among all entries
    Decoder in(writes);
    const std::size_t count = in.array();
    if (count > writes_max) return false;
    out.clear();
    Encoder encoder(out);
    encoder.array(count);
    std::set<std::string_view> named;
    while (!in.atEnd()) {
        const std::string_view before = in.rest();
        const LoggedWrite write = readWrite(in, true);
        bool names = false;
        if (mayBeNamed(write)) {
            for (Decoder ops(entries); !ops.atEnd() && !names;) {
                const NamedEntry entry = readNamedEntry(ops);
                names = entry.channel == write.channel && entry.value == write.value;
            }
        }
        if (names) {
            encoder.array(1);
            encoder.text(write.channel);
        } else {
            encoder.raw(before.substr(0, before.size() - in.rest().size()));
        }
        if (names || write.as_logged) named.insert(write.channel);
    }
    if (named.size() < count) return true;
    std::size_t said = 0;
    for (Decoder ops(entries); !ops.atEnd();) said += readNamedEntry(ops).op != LogOp::clear;
    if (said == count) out.clear();  // without a list, the operations are the writes
    return true;
}

}  // namespace stategraph::checkpoint
