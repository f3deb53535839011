#pragma once
#include <memory>
#include <string>
#include <string_view>

#include <stategraph/encrypted_saver.hpp>

// AES-256-GCM by OpenSSL. Nothing here knows about records.
namespace stategraph::checkpoint {

/// The algorithm, which is looked up once because that is slow. Errors: SaverError.
class Aes256Gcm {
public:
    Aes256Gcm();
    ~Aes256Gcm();
    Aes256Gcm(const Aes256Gcm&) = delete;
    Aes256Gcm& operator=(const Aes256Gcm&) = delete;

    /// Encrypts or decrypts several boxes during one call, and recomputes what depends on a key only when the key
    /// changes. Its destructor erases key material. Not thread-safe. Errors: SaverError with OpenSSL's reason.
    class Work {
    public:
        explicit Work(const Aes256Gcm& algorithm);
        ~Work();
        Work(const Work&) = delete;
        Work& operator=(const Work&) = delete;

        void useToEncrypt(const EncryptionKey& key);
        void useToDecrypt(const EncryptionKey& key);
        /// Appends ciphertext and tag.
        void encrypt(std::string_view nonce, std::string_view bound, std::string_view plain, std::string& out);
        /// Returns whether the box is genuine; `plain` is set only if it is.
        bool decrypt(std::string_view nonce, std::string_view bound, std::string_view box, std::string& plain);

    private:
        struct Context;
        const Aes256Gcm& algorithm_;
        std::unique_ptr<Context> context_;
    };

private:
    struct Algorithm;
    std::unique_ptr<Algorithm> algorithm_;
};

/// Returns bytes from OpenSSL's generator. Errors: SaverError.
std::string randomBytes(std::size_t count);

}  // namespace stategraph::checkpoint
