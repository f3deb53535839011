#include "storage/rocksdb/rocksdb_checked_tables.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <rocksdb/file_system.h>

#include "storage/rocksdb/rocksdb_bytes.hpp"
#include "storage/saver/owner_files.hpp"

// What is read of a table, whose numbers are little endian:
// - The last 53 bytes are its footer: the kind of the checksums (1 byte), where the index of the describing blocks is,
//   something else, zeros, the version of the format (4), and a number that all tables have (8).
// - A place is an offset and a size, both varints. The five bytes after a block are not counted.
// - The index of the describing blocks has entries: the number of bytes that the key shares with the key before (a
//   varint, always 0 here), the sizes of the key and of the value (varints), the key, and the value, a place.
// - A block ends with an index: the places of some entries (4 bytes each), and their number (4), whose highest bit says
//   that hashes of the keys come before. Only blocks of data have hashes.
namespace stategraph::checkpoint {
namespace {

constexpr std::size_t footer_size = 53;
constexpr std::uint64_t table_number = 0x88e241b785f4cff7;
constexpr std::uint64_t block_size_max = 1U << 20U;

struct Place {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

std::optional<Place> takePlace(std::string_view& rest) {
    const auto offset = takeVarint(rest);
    const auto size = takeVarint(rest);
    if (!offset || !size) return std::nullopt;
    return Place{*offset, *size};
}

std::optional<Place> findDescriptions(std::string_view footer) {
    if (footer.size() != footer_size || fixedNumber(footer.substr(footer_size - 8)) != table_number)
        return std::nullopt;
    footer.remove_prefix(1);
    return takePlace(footer);
}

std::optional<Place> findProperties(std::string_view entries) {
    while (const auto shared = takeVarint(entries)) {
        const auto key_size = takeVarint(entries);
        const auto value_size = takeVarint(entries);
        if (*shared != 0 || !key_size || !value_size || *key_size > entries.size()) return std::nullopt;
        const std::string_view key = entries.substr(0, *key_size);
        entries.remove_prefix(*key_size);
        if (*value_size > entries.size()) return std::nullopt;
        std::string_view value = entries.substr(0, *value_size);
        entries.remove_prefix(*value_size);
        if (key == "rocksdb.properties") return takePlace(value);
    }
    return std::nullopt;
}

/// A table as a file. What cannot be read or understood is empty: RocksDB reads it once more, and reports that.
class TableFile {
public:
    TableFile(const rocksdb::FSRandomAccessFile& file, std::uint64_t size) : file_(file), size_(size) {}

    bool mustNotBeOpened() const {
        if (size_ < footer_size) return false;
        const std::string footer = read({size_ - footer_size, footer_size});
        const auto descriptions = findDescriptions(footer);
        if (!descriptions) return false;
        const std::string entries = read(*descriptions);
        const auto properties = findProperties(entries);
        if (!properties || properties->size < 4 || properties->size > size_) return false;
        const std::string end = read({properties->offset + properties->size - 4, 4});
        return end.size() == 4 && fixedNumber(end) >> 31U != 0;
    }

private:
    std::string read(const Place& place) const {
        if (place.size > block_size_max || place.offset > size_ || place.size > size_ - place.offset) return {};
        std::string bytes(place.size, '\0');
        rocksdb::Slice found;
        const rocksdb::IOStatus status =
            file_.Read(place.offset, place.size, rocksdb::IOOptions(), &found, bytes.data(), nullptr);
        return status.ok() ? found.ToString() : std::string();
    }

    const rocksdb::FSRandomAccessFile& file_;
    std::uint64_t size_;
};

class CheckedTables : public rocksdb::FileSystemWrapper {
public:
    CheckedTables(const std::shared_ptr<rocksdb::FileSystem>& target, bool owner_only)
        : FileSystemWrapper(target), owner_only_(owner_only) {}

    const char* Name() const override { return "StategraphCheckedTables"; }

    // RocksDB's own call keeps the rights of a file that is there.
    rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override {
        if (owner_only_) makeOwnerFile(path);
        return target()->NewWritableFile(path, options, file, debug);
    }
    rocksdb::IOStatus LockFile(const std::string& path, const rocksdb::IOOptions& options, rocksdb::FileLock** lock,
                               rocksdb::IODebugContext* debug) override {
        if (owner_only_) makeOwnerFile(path);
        return target()->LockFile(path, options, lock, debug);
    }
    rocksdb::IOStatus NewLogger(const std::string& path, const rocksdb::IOOptions& options,
                                std::shared_ptr<rocksdb::Logger>* log, rocksdb::IODebugContext* debug) override {
        if (owner_only_) makeOwnerFile(path);
        return target()->NewLogger(path, options, log, debug);
    }
    rocksdb::IOStatus CreateDirIfMissing(const std::string& path, const rocksdb::IOOptions& options,
                                         rocksdb::IODebugContext* debug) override {
        if (owner_only_) (void)makeOwnerFolders(path);
        return target()->CreateDirIfMissing(path, options, debug);
    }

    rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                          rocksdb::IODebugContext* debug) override {
        rocksdb::IOStatus status = target()->NewRandomAccessFile(path, options, file, debug);
        if (status.ok() && path.ends_with(".sst")) status = check(path, options, **file);
        if (!status.ok()) file->reset();
        return status;
    }

private:
    rocksdb::IOStatus check(const std::string& path, rocksdb::FileOptions options,
                            const rocksdb::FSRandomAccessFile& file) const {
        std::unique_ptr<rocksdb::FSRandomAccessFile> plain;
        std::uint64_t size = 0;
        rocksdb::IOStatus status = target()->GetFileSize(path, options.io_options, &size, nullptr);
        if (status.ok() && options.use_direct_reads) {  // for these, each place and size would have to be aligned
            options.use_direct_reads = false;
            status = target()->NewRandomAccessFile(path, options, &plain, nullptr);
        }
        if (!status.ok()) return status;
        if (!TableFile(plain ? *plain : file, size).mustNotBeOpened()) return status;
        return rocksdb::IOStatus::Corruption("the block of the table's properties is altered", path);
    }

    const bool owner_only_;
};

}  // namespace

rocksdb::Env* envOfCheckedTables(bool owner_only) {
    static rocksdb::Env* const envs[] = {
        rocksdb::NewCompositeEnv(std::make_shared<CheckedTables>(rocksdb::FileSystem::Default(), false)).release(),
        rocksdb::NewCompositeEnv(std::make_shared<CheckedTables>(rocksdb::FileSystem::Default(), true)).release()};
    return envs[owner_only ? 1 : 0];
}

}  // namespace stategraph::checkpoint
