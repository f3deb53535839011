#include "src/checkpoint/record_parts.hpp"

#include <string>

#include <stategraph/error.hpp>

namespace stategraph::checkpoint {

void writeNames(detail::StagedEncoder& out, const std::vector<std::string_view>& names) {
    out.array(names.size());
    for (const auto name : names) out.text(name);
}

void readNames(Decoder& in, std::vector<std::string_view>& names) {
    names.resize(in.array());
    for (auto& name : names) name = in.text();
}

std::vector<std::string_view> readNames(Decoder& in) {
    std::vector<std::string_view> names;
    readNames(in, names);
    return names;
}

void writeSends(detail::StagedEncoder& out, const std::vector<LoggedSend>& sends) {
    out.array(sends.size());
    for (const auto& send : sends) {
        out.array(2);
        out.text(send.node);
        out.raw(send.payload);
    }
}

std::vector<LoggedSend> readSends(Decoder& in) {
    std::vector<LoggedSend> sends(in.array());
    for (auto& send : sends) {
        if (in.array() != 2) throw WrongTypeError("expected a send of node and payload");
        send.node = in.text();
        send.payload = in.raw();
    }
    return sends;
}

LoggedWrite readWrite(Decoder& in, bool of_commit) {
    LoggedWrite write;
    const std::size_t parts = in.array();
    if (parts < 2 && !(of_commit && parts == 1)) throw WrongTypeError("expected a write of channel, kind and value");
    write.channel = in.text();
    if (parts == 1) {
        write.as_logged = true;
        return write;
    }
    const std::string_view kind = in.text();
    if (!isOneOf("=+!w-", kind) || parts != (kind[0] == '-' ? 2U : 3U)) {
        throw WrongTypeError("unknown write to channel '" + std::string(write.channel) + "'");
    }
    write.kind = static_cast<WriteKind>(kind[0]);
    if (parts == 3) write.value = in.raw();
    return write;
}

std::vector<LoggedWrite> readWrites(std::string_view cbor) {
    Decoder in(cbor);
    std::vector<LoggedWrite> writes(in.array());
    for (auto& write : writes) write = readWrite(in, false);
    return writes;
}

void writeLoggedWrite(Encoder& out, std::string_view channel, WriteKind kind) {
    detail::StagedEncoder staged(out.out());
    staged.array(kind == WriteKind::clear ? 2 : 3);
    staged.text(channel);
    const char letter = static_cast<char>(kind);
    staged.text({&letter, 1});
    staged.finish();
}

}  // namespace stategraph::checkpoint
