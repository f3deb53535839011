#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/forwarding_saver.hpp>
#include <stategraph/retention.hpp>

namespace stategraph {

/// A key of AES-256 and the name under which records refer to it. Every copy erases its bytes when it is destroyed. The
/// id is 1 to 255 bytes and not secret; two keys never share one. Make the bytes with a cryptographic random generator.
struct EncryptionKey {
    EncryptionKey(std::string key_id, const std::array<unsigned char, 32>& key_bytes);
    EncryptionKey(const EncryptionKey&) = default;
    EncryptionKey& operator=(const EncryptionKey&) = default;
    ~EncryptionKey();

    std::string id;
    std::array<unsigned char, 32> bytes;
};

/// Where keys come from. Both functions are called from any thread, several at the same time, without a lock; what they
/// throw ends the call that needed the key, and nothing is stored.
struct EncryptionOptions {
    /// Returns the key to write with. It is called once for each `put`, so a new key is used from the next `put` on;
    /// return it from memory.
    std::function<EncryptionKey()> current_key;
    /// Returns the key with that id, to read with: the current one or an older one; none if it is unknown. It may be
    /// slow (a key service).
    std::function<std::optional<EncryptionKey>(std::string_view id)> find_key;
    /// At most this many copies of keys that `find_key` returned are kept in memory, up to 8 of one key for different
    /// threads. With 0 each call asks for its key. A withdrawn key stays in memory until the saver is destroyed.
    std::size_t cached_keys_max = 64;
    /// Prune in the background, as `EncryptedSaver::prune` does. (The inner saver's own retention has no keys and
    /// cannot rewrite kept commits: in threads that only grow, it drops nothing.)
    std::optional<RetentionOptions> retention = {};

    /// Uses one key for everything.
    static EncryptionOptions withKey(std::string id, const std::array<unsigned char, 32>& bytes);
};

/// Encrypts what another saver stores: every commit and pending write, with AES-256-GCM, bound to its thread,
/// namespace, checkpoint and path. Link `stategraph::encryption`.
///
/// Errors: a row that is not encrypted, was altered or moved, or whose key is unknown or another:
/// CorruptCheckpointError naming the row. Exceptions of the inner saver and of the functions of `EncryptionOptions`
/// pass through. `list` over every thread marks what it cannot open as `damaged`: the saver of one tenant skips the
/// threads of others.
///
/// Hidden: values, metadata, questions, answers, errors, names of channels, what is due. NOT hidden: thread ids,
/// namespaces and paths (they hold names of nodes), checkpoint ids (times), sizes, how commits link, whether something
/// is due in a commit or an interrupt is open, ids of keys. Not noticed: rows that are missing, a log cut off at its
/// end, an older version of the same row.
///
/// A key may encrypt 2^32 records, because nonces are random: use a new one long before. Records under older keys stay
/// readable. Safe from any thread; a put takes no shared lock. Cost: processor time of about 2 µs a `put` of one small
/// row, 1 µs to read it, 0.2 to 0.6 ms a megabyte (docs/encryption.md); 60 bytes a row. A conditional pending write
/// reads its checkpoint first.
class EncryptedSaver final : public ForwardingSaver {
public:
    /// Throws InvalidArgumentError without an inner saver or one of the functions, SaverError if OpenSSL has no
    /// AES-256-GCM.
    EncryptedSaver(std::shared_ptr<BaseCheckpointSaver> inner, EncryptionOptions options);
    ~EncryptedSaver() override;

    void put(const PutRequest& request) override;
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override;
    std::vector<ListedCheckpoint> list(const ListQuery& query) override;
    /// Decrypts and encrypts again, a page at a time, with the root's log last; it is not one atomic write. If it
    /// fails, the target is deleted.
    void copyThread(std::string_view from, std::string_view to) override;
    /// The inner saver's prune; kept commits are decrypted, rewritten as a whole and encrypted with the current key.
    /// The functions of `EncryptionOptions` are called for that while the inner saver holds the thread, so they must
    /// not use it. What cannot be opened is not rewritten.
    std::size_t prune(const PruneRequest& request) override;
    void putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) override;
    std::optional<std::string> getGraph(const GraphFingerprint& fingerprint) override;
    std::optional<std::vector<IndexedThread>> openThreads(const OpenThreadsQuery& query) override;
    std::optional<std::vector<IndexedThread>> newestThreads(const NewestThreadsQuery& query) override;
    /// Sealing is done by the caller's thread, opening by that of the completion. A request that compares pending
    /// writes is stored by `put`, because their rows have to be read first.
    void asyncPut(const PutRequest& request, PutCompletion& completion) noexcept override;
    void asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept override;

    /// What the prunes in the background did; all zero without `retention`.
    RetentionReport retentionReport() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
