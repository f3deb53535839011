#pragma once
#include <string>
#include <string_view>

namespace stategraph {

/// Encrypts rows of bytes, each bound to its key: what StoreOptions::cipher is. `encryptRows`
/// (stategraph/encrypted_store.hpp) makes one. Safe from any thread.
class RowCipher {
public:
    virtual ~RowCipher() = default;
    /// Returns the encrypted bytes, which `open` with the same key decrypts. What it throws ends the call, and nothing
    /// is stored.
    virtual std::string seal(std::string_view key, std::string_view plain) = 0;
    /// Throws WrongTypeError, saying why, for bytes that are not sealed, were altered or moved, or whose key of
    /// encryption is not known.
    virtual std::string open(std::string_view key, std::string_view sealed) = 0;
};

}  // namespace stategraph
