#include <stategraph/encrypted_store.hpp>

#include <functional>
#include <utility>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

#include "src/checkpoint/sealed_record.hpp"
#include "storage/encrypted/encrypted_box.hpp"
#include "storage/encrypted/encrypted_keys.hpp"

// Rows of stores, sealed:
//   row   := 02 head box
//   head  := [key id, nonce]     CBOR; the nonce: 12 random bytes
//   box   := ciphertext tag      to the row's end: AES-256-GCM of the row in the clear; the tag has 16 bytes
// The tag covers "stategraph row" 02 sized(row key) sized(head) in addition (sized: preceded by its size, 8 bytes, big
// endian).
namespace stategraph {
namespace {

using checkpoint::Aes256Gcm;

constexpr char row_version = 2;

std::string boundTo(std::string_view key, std::string_view head) {
    std::string bound = "stategraph row";
    bound.push_back(row_version);
    checkpoint::appendSized(bound, key);
    checkpoint::appendSized(bound, head);
    return bound;
}

class Cipher final : public RowCipher {
public:
    explicit Cipher(EncryptionOptions options)
        : current_key_(std::move(options.current_key)), keys_(std::move(options.find_key), options.cached_keys_max) {}

    std::string seal(std::string_view key, std::string_view plain) override {
        const EncryptionKey with = current_key_();
        checkpoint::checkKey(with);
        const std::string nonce = checkpoint::randomBytes(checkpoint::nonce_size);
        std::string head;
        Encoder encoder(head);
        encoder.array(2);
        encoder.text(with.id);
        encoder.bytes(nonce);
        std::string row(1, row_version);
        row += head;
        Aes256Gcm::Work work(algorithm_);
        work.useToEncrypt(with);
        work.encrypt(nonce, boundTo(key, head), plain, row);
        return row;
    }

    std::string open(std::string_view key, std::string_view sealed) override {
        if (sealed.empty() || sealed[0] != row_version)
            throw WrongTypeError("it is not encrypted, and anyone could have written it");
        Decoder in(sealed.substr(1));
        if (in.array() != 2) throw WrongTypeError("expected a sealed row's head");
        const std::string_view key_id = in.text();
        const std::string_view nonce = in.bytes();
        if (nonce.size() != checkpoint::nonce_size) throw WrongTypeError("its nonce is of a wrong size");
        if (in.rest().size() < checkpoint::tag_size) throw WrongTypeError("it is cut off");
        const std::string_view head = sealed.substr(1, sealed.size() - 1 - in.rest().size());
        const std::optional<EncryptionKey> with = keys_.find(key_id);
        if (!with) {
            throw WrongTypeError("it is encrypted with the key '" + std::string(key_id) +
                                 "', which find_key does not know; give it that key");
        }
        Aes256Gcm::Work work(algorithm_);
        work.useToDecrypt(*with);
        std::string plain;
        if (!work.decrypt(nonce, boundTo(key, head), in.rest(), plain)) {
            throw WrongTypeError("its authentication failed: it was altered, it belongs to another row, or the key '" +
                                 std::string(key_id) + "' is not the one it was written with");
        }
        return plain;
    }

private:
    std::function<EncryptionKey()> current_key_;
    checkpoint::KeyRing keys_;
    Aes256Gcm algorithm_;
};

}  // namespace

std::shared_ptr<RowCipher> encryptRows(EncryptionOptions options) {
    if (!options.current_key || !options.find_key) {
        throw InvalidArgumentError(
            "encryptRows: current_key or find_key is not set; set both, or use EncryptionOptions::withKey");
    }
    return std::make_shared<Cipher>(std::move(options));
}

}  // namespace stategraph
