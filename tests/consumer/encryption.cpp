#include <array>

#include <stategraph/encrypted_saver.hpp>
#include <stategraph/memory_saver.hpp>

#include "counts_twice.hpp"

int main() {
    std::array<unsigned char, 32> bytes{};
    bytes[0] = 1;
    return countsTwice(std::make_shared<stategraph::EncryptedSaver>(
        std::make_shared<stategraph::MemorySaver>(), stategraph::EncryptionOptions::withKey("key", bytes)));
}
