// Encryption at rest, for docs/how_to/encrypt.md.
#include <array>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <stategraph/encrypted_saver.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Patient {
    std::string name = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&Patient::name>()); }
};

// [begin key]
// 32 bytes of a generator made for keys: openssl rand 32 > key
std::array<unsigned char, 32> readKey(const std::string& file) {
    std::array<unsigned char, 32> key{};
    std::ifstream in(file, std::ios::binary);
    in.read(reinterpret_cast<char*>(key.data()), key.size());
    if (!in) throw std::runtime_error("no key of 32 bytes in " + file);
    return key;
}
// [end key]

int main() {
    std::ofstream("key", std::ios::binary) << "for an example only: 32 bytes!!!";
    sg::StateGraph<Patient> graph;
    graph.addNode("greet", [](const Patient& patient) -> sg::Update<Patient> {
        return {sg::set<&Patient::name>("Dr " + patient.name)};
    });
    graph.addEdge(sg::START, "greet").addEdge("greet", sg::END);

    // [begin saver]
    const auto store = std::make_shared<sg::RocksDBSaver>("patients");
    const auto saver =
        std::make_shared<sg::EncryptedSaver>(store, sg::EncryptionOptions::withKey("2026", readKey("key")));
    const auto app = graph.compile({.checkpointer = saver});
    // [end saver]
    std::cout << app.invoke({sg::set<&Patient::name>("Grace")}, {.thread_id = "1"}).values << "\n";

    // [begin without]
    try {
        // Reads as a person who has only the folder.
        graph.compile({.checkpointer = store}).getState({.thread_id = "1"});
    } catch (const sg::CorruptCheckpointError& error) {
        std::cout << error.message() << "\n";
    }
    // [end without]
}
