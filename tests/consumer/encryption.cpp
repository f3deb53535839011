#include <memory>

#include <stategraph/encrypted_saver.hpp>
#include <stategraph/memory_saver.hpp>

int main() {
    std::array<unsigned char, 32> bytes{};
    bytes[0] = 1;
    stategraph::EncryptedSaver saver(std::make_shared<stategraph::MemorySaver>(),
                                     stategraph::EncryptionOptions::withKey("key", bytes));
    return saver.list({}).empty() ? 0 : 1;
}
