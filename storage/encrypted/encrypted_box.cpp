#include "storage/encrypted/encrypted_box.hpp"

#include <algorithm>
#include <array>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <stategraph/error.hpp>

#include "src/checkpoint/sealed_record.hpp"

namespace stategraph::checkpoint {
namespace {

// OpenSSL counts in int.
constexpr std::size_t piece_max = std::size_t{1} << 30U;

[[noreturn]] void failOpenSSL(const char* work) {
    std::array<char, 256> reason{};
    const unsigned long code = ERR_get_error();
    ERR_error_string_n(code, reason.data(), reason.size());
    ERR_clear_error();
    throw SaverError("encryption: OpenSSL cannot " + std::string(work) + ": " +
                     (code != 0 ? std::string(reason.data()) : std::string("it gives no reason")));
}

const unsigned char* bytesOf(std::string_view text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytesOf(char* text) noexcept { return reinterpret_cast<unsigned char*>(text); }

// Feeds `in` to one of OpenSSL's update functions. If `out` is null, the bytes are only authenticated.
template <typename Update>
bool feed(Update update, EVP_CIPHER_CTX* context, std::string_view in, unsigned char* out) {
    while (!in.empty()) {
        const std::string_view piece = in.substr(0, piece_max);
        int written = 0;
        if (update(context, out, &written, bytesOf(piece), static_cast<int>(piece.size())) != 1) return false;
        if (out) out += written;
        in.remove_prefix(piece.size());
    }
    return true;
}

}  // namespace

struct Aes256Gcm::Algorithm {
    EVP_CIPHER* cipher = nullptr;
};

Aes256Gcm::Aes256Gcm() : algorithm_(std::make_unique<Algorithm>()) {
    algorithm_->cipher = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
    if (!algorithm_->cipher) failOpenSSL("find AES-256-GCM");
}
Aes256Gcm::~Aes256Gcm() { EVP_CIPHER_free(algorithm_->cipher); }

struct Aes256Gcm::Work::Context {
    EVP_CIPHER_CTX* evp = nullptr;
};

Aes256Gcm::Work::Work(const Aes256Gcm& algorithm) : algorithm_(algorithm), context_(std::make_unique<Context>()) {
    context_->evp = EVP_CIPHER_CTX_new();
    if (!context_->evp) failOpenSSL("make a context");
}
Aes256Gcm::Work::~Work() { EVP_CIPHER_CTX_free(context_->evp); }

void Aes256Gcm::Work::useToEncrypt(const EncryptionKey& key) {
    if (EVP_EncryptInit_ex2(context_->evp, algorithm_.algorithm_->cipher, key.bytes.data(), nullptr, nullptr) != 1) {
        failOpenSSL("take a key");
    }
}

void Aes256Gcm::Work::useToDecrypt(const EncryptionKey& key) {
    if (EVP_DecryptInit_ex2(context_->evp, algorithm_.algorithm_->cipher, key.bytes.data(), nullptr, nullptr) != 1) {
        failOpenSSL("take a key");
    }
}

void Aes256Gcm::Work::encrypt(std::string_view nonce, std::string_view bound, std::string_view plain,
                              std::string& out) {
    EVP_CIPHER_CTX* const context = context_->evp;
    const std::size_t start = out.size();
    out.resize(start + plain.size() + tag_size);
    unsigned char* const box = bytesOf(out.data() + start);
    unsigned char* const tag = box + plain.size();
    int none = 0;
    const bool done = EVP_EncryptInit_ex2(context, nullptr, nullptr, bytesOf(nonce), nullptr) == 1 &&
                      feed(EVP_EncryptUpdate, context, bound, nullptr) &&
                      feed(EVP_EncryptUpdate, context, plain, box) && EVP_EncryptFinal_ex(context, tag, &none) == 1 &&
                      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag_size), tag) == 1;
    if (!done) failOpenSSL("encrypt a record");
}

bool Aes256Gcm::Work::decrypt(std::string_view nonce, std::string_view bound, std::string_view box,
                              std::string& plain) {
    EVP_CIPHER_CTX* const context = context_->evp;
    const std::string_view ciphertext = box.substr(0, box.size() - tag_size);
    std::array<unsigned char, tag_size> tag{};
    std::copy_n(bytesOf(box) + ciphertext.size(), tag_size, tag.data());
    std::string opened(ciphertext.size(), '\0');
    int none = 0;
    const bool ready = EVP_DecryptInit_ex2(context, nullptr, nullptr, bytesOf(nonce), nullptr) == 1 &&
                       feed(EVP_DecryptUpdate, context, bound, nullptr) &&
                       feed(EVP_DecryptUpdate, context, ciphertext, bytesOf(opened.data())) &&
                       EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag_size), tag.data()) == 1;
    if (!ready) failOpenSSL("decrypt a record");
    if (EVP_DecryptFinal_ex(context, tag.data(), &none) != 1) {
        ERR_clear_error();
        return false;
    }
    plain = std::move(opened);
    return true;
}

std::string randomBytes(std::size_t count) {
    std::string bytes(count, '\0');
    for (std::size_t at = 0; at < count; at += piece_max) {
        const std::size_t piece = std::min(piece_max, count - at);
        if (RAND_bytes(bytesOf(bytes.data() + at), static_cast<int>(piece)) != 1) failOpenSSL("make random bytes");
    }
    return bytes;
}

}  // namespace stategraph::checkpoint
