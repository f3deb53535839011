#include "storage/encrypted/encrypted_keys.hpp"

#include <algorithm>
#include <thread>

#include <openssl/crypto.h>

#include <stategraph/error.hpp>

namespace stategraph {

EncryptionKey::EncryptionKey(std::string key_id, const std::array<unsigned char, 32>& key_bytes)
    : id(std::move(key_id)), bytes(key_bytes) {}

EncryptionKey::~EncryptionKey() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

EncryptionOptions EncryptionOptions::withKey(std::string id, const std::array<unsigned char, 32>& bytes) {
    const auto key = std::make_shared<const EncryptionKey>(std::move(id), bytes);
    return {.current_key = [key] { return *key; },
            .find_key = [key](std::string_view wanted) -> std::optional<EncryptionKey> {
                if (wanted != key->id) return std::nullopt;
                return *key;
            },
            .cached_keys_max = 0};
}

}  // namespace stategraph

namespace stategraph::checkpoint {
namespace {

constexpr std::size_t part_count_max = 8;
constexpr std::size_t id_size_max = 255;

}  // namespace

void checkKey(const EncryptionKey& key) {
    if (key.id.empty() || key.id.size() > id_size_max) {
        throw InvalidArgumentError("an encryption key's id has " + std::to_string(key.id.size()) +
                                   " bytes; give it a name of 1 to " + std::to_string(id_size_max));
    }
    if (std::all_of(key.bytes.begin(), key.bytes.end(), [](unsigned char byte) { return byte == 0; })) {
        throw InvalidArgumentError("the encryption key '" + key.id + "' is 32 zeros; fill it with random bytes");
    }
}

KeyRing::KeyRing(Find find, std::size_t capacity)
    : find_(std::move(find)),
      part_count_(std::min(capacity, part_count_max)),
      part_capacity_(part_count_ > 0 ? capacity / part_count_ : 0),
      parts_(std::make_unique<Part[]>(part_count_)) {}

std::optional<EncryptionKey> KeyRing::find(std::string_view id) {
    Part* const part =
        part_count_ > 0 ? &parts_[std::hash<std::thread::id>()(std::this_thread::get_id()) % part_count_] : nullptr;
    const auto isWanted = [&](const EncryptionKey& key) { return key.id == id; };
    if (part) {
        const detail::LockGuard lock(part->mutex);
        const auto at = std::find_if(part->keys.begin(), part->keys.end(), isWanted);
        if (at != part->keys.end()) return *at;
    }

    std::optional<EncryptionKey> key = find_(id);
    if (!key) return std::nullopt;
    checkKey(*key);
    if (key->id != id) {
        throw InvalidArgumentError("find_key was asked for the encryption key '" + std::string(id) +
                                   "' and returned '" + key->id + "'; return none for an unknown one");
    }
    if (part) {
        const detail::LockGuard lock(part->mutex);
        if (std::find_if(part->keys.begin(), part->keys.end(), isWanted) != part->keys.end()) return key;
        if (part->keys.size() < part_capacity_) {
            part->keys.push_back(*key);
        } else {
            part->keys[part->oldest++ % part_capacity_] = *key;
        }
    }
    return key;
}

}  // namespace stategraph::checkpoint
