#include "src/checkpoint/sealed_record.hpp"

#include <array>
#include <optional>

#include <stategraph/error.hpp>

#include "src/checkpoint/record_frame.hpp"
#include "src/checkpoint/record_parts.hpp"

namespace stategraph::checkpoint {

void appendSized(std::string& out, std::string_view text) {
    for (unsigned shift = 64; shift > 0; shift -= 8) {
        out.push_back(static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (shift - 8U)));
    }
    out.append(text);
}

bool isSealed(std::string_view bytes) noexcept {
    return !bytes.empty() && static_cast<unsigned char>(bytes[0]) == sealed_version;
}

std::string writeClearLinks(CheckpointId own, const RecordLinks& links) {
    std::string clear;
    detail::StagedEncoder e(clear);
    const bool has_base = links.base && links.base != own;
    const bool has_visits = links.has_all_visits || !links.visits.empty();
    e.map(std::size_t{1} + has_base + !links.root.empty() + links.around.has_value() + !links.parent.empty() +
          has_visits);
    e.text("due");
    e.boolean(!links.is_finished);
    if (has_base) {
        e.text("base");
        writeRef(e, own, links.base);
    }
    if (links.root) {
        e.text("root");
        writeId(e, links.root);
    }
    if (links.around) {
        e.text("around");
        writeId(e, *links.around);
    }
    if (links.parent) {
        e.text("parent");
        writeRef(e, own, links.parent);
    }
    if (has_visits) {
        e.text("visits");
        writeVisits(e, links.visits, links.has_all_visits);
    }
    e.finish();
    return clear;
}

std::string writeClearOpen(bool is_open) {
    std::string clear;
    Encoder e(clear);
    e.map(1);
    e.text("open");
    e.boolean(is_open);
    return clear;
}

std::string writeSealedHead(std::string_view clear, std::string_view key_id, std::string_view nonce) {
    std::string head;
    head.reserve(clear.size() + key_id.size() + nonce.size() + 8);
    Encoder e(head);
    e.array(3);
    e.raw(clear);
    e.text(key_id);
    e.bytes(nonce);
    return head;
}

SealedFields readSealed(const RowKey& key, std::string_view bytes) {
    const Frame frame = readFrame(key, bytes);
    if (frame.version != sealed_version) corrupt(key, "it is not encrypted");
    SealedFields fields;
    try {
        Decoder in(frame.body);
        if (in.array() != 3) throw WrongTypeError("expected a sealed record's head");
        fields.clear = in.raw();
        fields.key_id = in.text();
        fields.nonce = in.bytes();
        fields.box = in.rest();
        fields.head = frame.body.substr(0, frame.body.size() - fields.box.size());
        if (fields.nonce.size() != nonce_size) throw WrongTypeError("its nonce is of a wrong size");
        if (fields.box.size() < tag_size) throw WrongTypeError("its box is too short");
    } catch (const WrongTypeError& error) {
        corrupt(key, error.message());
    }
    return fields;
}

RecordLinks readSealedLinks(const RowKey& key, std::string_view bytes) {
    RecordLinks links{.parent = {}, .base = key.id, .root = {}, .is_finished = false};
    const SealedFields fields = readSealed(key, bytes);
    try {
        std::optional<bool> is_due;
        Decoder in(fields.clear);
        for (std::size_t count = in.map(); count > 0; --count) {
            const std::string_view field = in.text();
            if (field == "due") {
                is_due = in.boolean();
            } else if (field == "base") {
                links.base = readRef(in, key.id);
            } else if (field == "root") {
                links.root = readId(in);
            } else if (field == "around") {
                links.around = readId(in);
            } else if (field == "parent") {
                links.parent = readRef(in, key.id);
            } else if (field == "visits") {
                links.has_all_visits = readVisits(in, [&links](std::string_view log, CheckpointId id) {
                    links.visits.push_back({std::string(log), id});
                });
            } else {
                in.skip();  // a field of a later minor version
            }
        }
        if (!is_due) throw WrongTypeError("it is not a commit's");
        links.is_finished = !*is_due;
    } catch (const WrongTypeError& error) {
        corrupt(key, error.message());
    }
    return links;
}

bool readSealedOpen(const RowKey& key, std::string_view bytes) {
    const SealedFields fields = readSealed(key, bytes);
    std::optional<bool> is_open;
    try {
        Decoder in(fields.clear);
        for (std::size_t count = in.map(); count > 0; --count) {
            if (in.text() == "open") {
                is_open = in.boolean();
            } else {
                in.skip();
            }
        }
        if (!is_open) throw WrongTypeError("it is not a pending write's");
    } catch (const WrongTypeError& error) {
        corrupt(key, error.message());
    }
    return *is_open;
}

std::string boundTo(const RowKey& key, RowKind kind, std::string_view head) {
    std::string bound = "stategraph sealed";
    bound.reserve(bound.size() + 50 + key.thread_id.size() + key.checkpoint_ns.size() + key.path.size() + head.size());
    bound.push_back(static_cast<char>(sealed_version));
    bound.push_back(static_cast<char>(kind));
    appendSized(bound, key.thread_id);
    appendSized(bound, key.checkpoint_ns);
    std::array<char, 16> id{};
    key.id.toBytes(id.data());
    bound.append(id.data(), id.size());
    appendSized(bound, key.path);
    appendSized(bound, head);
    return bound;
}

}  // namespace stategraph::checkpoint
