#pragma once
#include <string>
#include <string_view>

namespace stategraph {

/// Encrypts rows of bytes, each bound to its key, for StoreOptions::cipher. `encryptRows`
/// (stategraph/encrypted_store.hpp) makes one. Safe from any thread.
class RowCipher {
public:
    virtual ~RowCipher() = default;
    /// Returns the encrypted bytes, which `open` with the same key decrypts. What it throws ends the call, and nothing
    /// is stored.
    virtual std::string seal(std::string_view key, std::string_view plain) = 0;
    /// Decrypts the result of `seal`. Throws WrongTypeError, with the reason, for bytes that are not encrypted, were
    /// altered or moved, or were encrypted with an unknown key.
    virtual std::string open(std::string_view key, std::string_view sealed) = 0;
};

}  // namespace stategraph
