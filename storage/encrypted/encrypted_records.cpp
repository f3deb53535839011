#include "storage/encrypted/encrypted_records.hpp"

#include <stategraph/error.hpp>

#include "src/checkpoint/record_frame.hpp"

namespace stategraph::checkpoint {

RowKey keyOf(const LogName& log, CheckpointId id, std::string_view path) {
    return {log.thread_id, log.checkpoint_ns, id, path};
}

RowKey keyOf(const GraphFingerprint& fingerprint) {
    return {"", "graph", CheckpointId(fingerprint.graph, fingerprint.schema), ""};
}

namespace {

// Bytes that no reader understands may be an interrupt. Such a row counts as open, so that pruning keeps its
// checkpoint.
bool mayBeOpen(const RowKey& key, std::string_view bytes) {
    try {
        return hasOpenInterrupt(key, bytes);
    } catch (const CorruptCheckpointError&) {
        return true;
    }
}

}  // namespace

Sealer::Sealer(const Aes256Gcm& algorithm, const EncryptionKey& key, std::size_t rows)
    : work_(algorithm), key_id_(key.id), nonces_(randomBytes(rows * nonce_size)) {
    work_.useToEncrypt(key);
}

std::string Sealer::seal(const RowKey& key, RowKind kind, std::string_view plain) {
    const std::string_view nonce = std::string_view(nonces_).substr(used_, nonce_size);
    used_ += nonce_size;
    const bool is_open = kind == RowKind::pending_write && mayBeOpen(key, plain);
    const std::string clear =
        kind == RowKind::commit ? writeClearLinks(key.id, readLinks(key, plain)) : writeClearOpen(is_open);
    const std::string head = writeSealedHead(clear, key_id_, nonce);
    std::string record;
    record.reserve(head.size() + plain.size() + 32);
    const std::size_t start = openFrame(record, sealed_version);
    record += head;
    work_.encrypt(nonce, boundTo(key, kind, head), plain, record);
    closeFrame(key.id, record, start);
    return record;
}

std::string Opener::open(const RowKey& key, RowKind kind, std::string_view bytes) {
    const auto version = static_cast<unsigned char>(bytes.empty() ? 0 : bytes[0]);
    if (version == format_version || version == naming_version) {
        corrupt(key, "it is not encrypted, and an EncryptedSaver accepts only encrypted records");
    }
    const SealedFields sealed = readSealed(key, bytes);
    use(key, sealed.key_id);
    std::string plain;
    if (!work_.decrypt(sealed.nonce, boundTo(key, kind, sealed.head), sealed.box, plain)) {
        corrupt(key, "its authentication failed: it was altered, it belongs to another row, or the key '" +
                         std::string(sealed.key_id) + "' is not the one it was written with");
    }
    return plain;
}

void Opener::open(const LogName& log, std::vector<StoredCommit>& commits) {
    RowBuffer buffer;
    for (auto& row : commits) row.bytes = buffer.add(open(keyOf(log, row.id), RowKind::commit, row.bytes));
}

void Opener::open(const LogName& log, CheckpointId id, std::vector<StoredWrite>& writes) {
    for (auto& row : writes) row.bytes = open(keyOf(log, id, row.path), RowKind::pending_write, row.bytes);
}

void Opener::use(const RowKey& key, std::string_view id) {
    if (used_ == id) return;
    const std::optional<EncryptionKey> found = keys_.find(id);
    if (!found) {
        corrupt(key, "it is encrypted with the key '" + std::string(id) +
                         "', which find_key does not know; give it that key");
    }
    used_.reset();
    work_.useToDecrypt(*found);
    used_ = id;
}

}  // namespace stategraph::checkpoint
