#pragma once
#include <string>

/// A certificate that its own key has signed, for 127.0.0.1 and localhost, or for another name; valid for a day. Both
/// are PEM.
struct SelfSigned {
    explicit SelfSigned(const std::string& subject_alt_name = "DNS:localhost,IP:127.0.0.1");
    std::string certificate;
    std::string key;
};
