#pragma once
#include <chrono>
#include <string>

/// A certificate that its own key has signed, for 127.0.0.1 and localhost, or for other names; valid for the last hour
/// and a day from now, or until another time from now. Both are PEM.
struct SelfSigned {
    explicit SelfSigned(const std::string& subject_alt_name = "DNS:localhost,IP:127.0.0.1",
                        std::chrono::seconds valid_for = std::chrono::hours(24));
    std::string certificate;
    std::string key;
};
