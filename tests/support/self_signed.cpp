#include "tests/support/self_signed.hpp"

#include <memory>
#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace {

template <class T, void (*Free)(T*)>
struct Frees {
    void operator()(T* object) const { Free(object); }
};
template <class T, void (*Free)(T*)>
using Owned = std::unique_ptr<T, Frees<T, Free>>;
struct FreesBio {
    void operator()(BIO* bio) const { BIO_free(bio); }
};

void must(bool is_done, const char* what) {
    if (!is_done) throw std::runtime_error(std::string("OpenSSL cannot ") + what);
}

template <class F>
std::string written(F write) {
    const std::unique_ptr<BIO, FreesBio> bio(BIO_new(BIO_s_mem()));
    must(bio != nullptr && write(bio.get()) == 1, "write PEM");
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &bytes);
    return {bytes, static_cast<std::size_t>(size)};
}

}  // namespace

SelfSigned::SelfSigned(const std::string& subject_alt_name, std::chrono::seconds valid_for) {
    char curve[] = "P-256";  // the macro casts const away
    const Owned<EVP_PKEY, EVP_PKEY_free> pair(EVP_EC_gen(curve));
    const Owned<X509, X509_free> made(X509_new());
    must(pair != nullptr && made != nullptr, "make a key");
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), static_cast<long>(valid_for.count()));
    X509_NAME* const name = X509_get_subject_name(made.get());
    const auto* const text = reinterpret_cast<const unsigned char*>("stategraph test");
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
    X509_set_issuer_name(made.get(), name);
    X509_set_pubkey(made.get(), pair.get());
    const Owned<X509_EXTENSION, X509_EXTENSION_free> names(
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, subject_alt_name.c_str()));
    must(names != nullptr && X509_add_ext(made.get(), names.get(), -1) == 1, "name a certificate");
    must(X509_sign(made.get(), pair.get(), EVP_sha256()) > 0, "sign a certificate");
    certificate = written([&](BIO* bio) { return PEM_write_bio_X509(bio, made.get()); });
    key = written(
        [&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, pair.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}
