#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/cache.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/encrypted_saver.hpp>
#include <stategraph/row_cipher.hpp>

namespace stategraph {

/// Encrypts a store's rows with AES-256-GCM, each bound to its item: give it to StoreOptions::cipher. The keys are
/// those of EncryptionOptions, whose `retention` is not used. Link `stategraph::encryption`.
///
/// Hidden: values, vectors, times. NOT hidden: namespaces and keys of items, when an item expires, sizes, ids of
/// encryption keys. An altered or moved row, one in the clear and one whose encryption key is not known are damaged
/// items. Searches open every item that they look at. What the functions of the options throw ends the call. Errors:
/// InvalidArgumentError without one of the functions; SaverError if OpenSSL has no AES-256-GCM. Cost: about 2 µs an
/// item put, 1 µs an item read; about 50 bytes a row.
std::shared_ptr<RowCipher> encryptRows(EncryptionOptions options);

/// Encrypts what another cache keeps: the results of nodes and calls, and the input that each is of, bound to namespace
/// and key.
///
/// An entry that cannot be opened, for any reason, counts as if it did not exist. NOT hidden: namespaces, which hold
/// names of nodes, and keys, which are hashes of the input: an attacker who can guess an input can find out whether it
/// was cached. Errors of the constructor: as
/// `encryptRows`, and InvalidArgumentError without an inner cache.
class EncryptedCache final : public BaseCache {
public:
    EncryptedCache(std::shared_ptr<BaseCache> inner, EncryptionOptions options);
    ~EncryptedCache() override;

    std::optional<std::string> get(std::string_view ns, std::string_view key) override;
    void set(std::string_view ns, std::string_view key, std::string_view value,
             std::optional<std::chrono::milliseconds> ttl) override;
    void remove(std::string_view ns, std::string_view key) override;
    void clear(std::string_view ns) override;
    void clear() override;

private:
    std::shared_ptr<BaseCache> inner_;
    std::shared_ptr<RowCipher> cipher_;
};

}  // namespace stategraph
