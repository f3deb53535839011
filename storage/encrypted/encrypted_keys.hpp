#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/encrypted_saver.hpp>

namespace stategraph::checkpoint {

/// Throws InvalidArgumentError for a key that cannot be valid: an id of a wrong size, or bytes that were not filled.
void checkKey(const EncryptionKey& key);

/// Keeps the keys that were found, at most about `capacity`. It has a few parts, each of which serves some threads of
/// the process, so that readers do not wait for one lock. The function that finds keys is called without a lock.
class KeyRing {
public:
    using Find = std::function<std::optional<EncryptionKey>(std::string_view)>;

    KeyRing(Find find, std::size_t capacity);

    /// Returns none if the key is unknown. Errors: those of the function; InvalidArgumentError if it returns another
    /// key.
    std::optional<EncryptionKey> find(std::string_view id);

private:
    struct alignas(64) Part {
        detail::Mutex mutex;
        std::vector<EncryptionKey> keys SG_GUARDED_BY(mutex);
        std::size_t oldest SG_GUARDED_BY(mutex) = 0;
    };

    Find find_;
    std::size_t part_count_;
    std::size_t part_capacity_;
    std::unique_ptr<Part[]> parts_;
};

}  // namespace stategraph::checkpoint
