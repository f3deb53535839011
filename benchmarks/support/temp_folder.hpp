#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace bench {

/// A folder for a database, which is removed with the object. TMPDIR selects the disk.
class TempFolder {
public:
    TempFolder() {
        static std::atomic<int> count{0};
        path_ = std::filesystem::temp_directory_path() /
                ("stategraph-bench-" + std::to_string(::getpid()) + "-" + std::to_string(count.fetch_add(1)));
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string path() const { return path_.string(); }

    /// Bytes of RocksDB's tables and write-ahead logs in it: what the data takes, without the texts that RocksDB writes
    /// about itself.
    std::uint64_t databaseBytes() const {
        std::uint64_t bytes = 0;
        for (const auto& file : std::filesystem::directory_iterator(path_)) {
            const auto extension = file.path().extension();
            if (extension == ".sst" || extension == ".log" || extension == ".blob") bytes += file.file_size();
        }
        return bytes;
    }

private:
    std::filesystem::path path_;
};

}  // namespace bench
