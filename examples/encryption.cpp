// What is stored is encrypted, with keys that change.
//
//     START ──► file ──► sign ──► END
//
// `sign` asks a human. The thread began under the key of 2025 and is finished under that of 2026. A program without the
// key, or with a wrong one, reads nothing of it.
#include <array>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/encrypted_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Patient {
    std::string name = {};
    std::vector<std::string> notes = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Patient::name>(), sg::channel<&Patient::notes>(sg::append));
    }
};

// A key service in miniature. A program gets the bytes of its keys from a real one, or from a file that only it can
// read.
struct KeyService {
    std::map<std::string, std::array<unsigned char, 32>, std::less<>> keys;
    std::string current;

    sg::EncryptionOptions options() {
        return {.current_key = [this] { return sg::EncryptionKey(current, keys.at(current)); },
                .find_key = [this](std::string_view id) -> std::optional<sg::EncryptionKey> {
                    const auto found = keys.find(id);
                    if (found == keys.end()) return std::nullopt;
                    return sg::EncryptionKey(found->first, found->second);
                }};
    }
};

// A fixed key, so that the program prints the same each time. A real key comes from a generator made for keys: openssl
// rand 32.
std::array<unsigned char, 32> exampleKey(unsigned char first) {
    std::array<unsigned char, 32> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(first + i);
    return bytes;
}

sg::CompiledGraph<Patient> makeApp(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<Patient> graph;
    graph.addNode("file", [](const Patient& patient) -> sg::Update<Patient> {
        return {sg::add<&Patient::notes>("opened a file for " + patient.name)};
    });
    graph.addNode("sign", [](const Patient& patient, sg::Runtime& runtime) -> sg::Update<Patient> {
        const auto doctor = sg::interrupt<std::string>(runtime, "Who signs for " + patient.name + "?");
        return {sg::add<&Patient::notes>("signed by " + doctor)};
    });
    graph.addEdge(sg::START, "file").addEdge("file", "sign").addEdge("sign", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

// Returns whether a text is anywhere in the rows of a store.
bool isStored(sg::BaseCheckpointSaver& store, std::string_view text) {
    for (const auto& row : store.list({.with_writes = true})) {
        if (row.bytes.view().find(text) != std::string::npos) return true;
        for (const auto& write : row.writes) {
            if (write.bytes.find(text) != std::string::npos) return true;
        }
    }
    return false;
}

int main() {
    // This may be any saver, for instance a RocksDBSaver.
    const auto store = std::make_shared<sg::MemorySaver>();
    KeyService service{.keys = {{"2025", exampleKey(1)}}, .current = "2025"};
    const auto app = makeApp(std::make_shared<sg::EncryptedSaver>(store, service.options()));

    const auto asked = app.invoke({sg::set<&Patient::name>("Grace")}, {.thread_id = "1"});
    std::cout << "Asked: " << asked.interrupts.at(0).value << "\n";
    std::cout << "Is 'Grace' anywhere in the store? " << (isStored(*store, "Grace") ? "yes" : "no") << "\n";

    std::cout << "\nA new year, a new key; the old one stays known\n";
    service.keys["2026"] = exampleKey(101);
    service.current = "2026";
    const auto signed_file = app.invoke(sg::resume("Ada"), {.thread_id = "1"});
    for (const auto& note : signed_file.values.notes) std::cout << "  - " << note << "\n";

    std::cout << "\nSomebody with another key of the same name\n";
    const auto thief =
        makeApp(std::make_shared<sg::EncryptedSaver>(store, sg::EncryptionOptions::withKey("2025", exampleKey(7))));
    try {
        thief.getState({.thread_id = "1"});
    } catch (const sg::CorruptCheckpointError& error) {
        std::cout << "  " << error.message() << "\n";
    }
    std::cout << "\nSomebody with the store alone\n";
    try {
        makeApp(store).getState({.thread_id = "1"});
    } catch (const sg::CorruptCheckpointError& error) {
        std::cout << "  " << error.message() << "\n";
    }
}
