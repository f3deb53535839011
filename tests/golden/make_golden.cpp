#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <stategraph/memory_saver.hpp>
#include <stategraph/rocksdb_saver.hpp>

#include "tests/golden/rows.hpp"
#include "tests/golden/threads_v1.hpp"

// Writes a golden database into a new folder: db/, rows.txt, expected.json. Run it once for each version of the format,
// with the first program that writes that version.
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, const std::string& text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace

int main(int count, char** words) {
    if (count != 2 || fs::exists(words[1])) {
        std::cerr << "usage: make_golden NEW_FOLDER\n";
        return 2;
    }
    const fs::path folder = words[1];
    fs::create_directories(folder);
    const std::string database = (folder / "db").string();
    const auto threads = golden::threads();
    // Half of the threads are in a table, and half in the write-ahead log.
    for (std::size_t half = 0; half < 2; ++half) {
        const auto saver = std::make_shared<stategraph::RocksDBSaver>(database);
        for (std::size_t i = half * threads.size() / 2; i < (half + 1) * threads.size() / 2; ++i)
            threads[i].store(saver);
    }
    std::string rows;
    std::string expected = "{";
    {
        const auto saver =
            std::make_shared<stategraph::RocksDBSaver>(database, stategraph::RocksDBSaverOptions{.read_only = true});
        rows = golden::rowsOf(*saver);
        for (const auto& thread : threads) {
            const auto copy = std::make_shared<stategraph::MemorySaver>();
            golden::load(rows, *copy);
            expected += (expected.size() > 1 ? ",\n\"" : "\n\"") + thread.name +
                        "\":{\"shows\":" + thread.describe(saver) + ",\n\"ends\":" + thread.finish(copy) + "}";
        }
    }
    write(folder / "rows.txt", rows);
    write(folder / "expected.json", expected + "\n}\n");
    for (const auto& entry : fs::directory_iterator(database)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("LOG") || name == "LOCK") fs::remove(entry.path());
    }
    std::cout << threads.size() << " threads, " << rows.size() << " bytes of rows\n";
}
