#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/encrypted_saver.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>

#include "src/checkpoint/sealed_record.hpp"
#include "storage/encrypted/encrypted_box.hpp"
#include "storage/encrypted/encrypted_keys.hpp"

// Encrypts and decrypts the records of savers.
namespace stategraph::checkpoint {

RowKey keyOf(const LogName& log, CheckpointId id, std::string_view path = {});
RowKey keyOf(const GraphFingerprint& fingerprint);

/// Encrypts the rows of one put.
class Sealer {
public:
    Sealer(const Aes256Gcm& algorithm, const EncryptionKey& key, std::size_t rows);

    std::string seal(const RowKey& key, RowKind kind, std::string_view plain);

private:
    Aes256Gcm::Work work_;
    std::string key_id_;
    std::string nonces_;
    std::size_t used_ = 0;
};

/// Decrypts the rows of one call. Errors: CorruptCheckpointError for a row that was altered, that belongs to another
/// key, that is not encrypted, or whose encryption key is not known.
class Opener {
public:
    Opener(const Aes256Gcm& algorithm, KeyRing& keys) : work_(algorithm), keys_(keys) {}

    std::string open(const RowKey& key, RowKind kind, std::string_view bytes);
    void open(const LogName& log, std::vector<StoredCommit>& commits);
    void open(const LogName& log, CheckpointId id, std::vector<StoredWrite>& writes);

private:
    void use(const RowKey& key, std::string_view id);

    Aes256Gcm::Work work_;
    KeyRing& keys_;
    std::optional<std::string> used_;
};

}  // namespace stategraph::checkpoint
