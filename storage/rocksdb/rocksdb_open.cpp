#include "storage/rocksdb/rocksdb_open.hpp"

#include <filesystem>
#include <system_error>

#include <rocksdb/cache.h>
#include <rocksdb/table.h>
#include <unistd.h>

#include "storage/saver/owner_files.hpp"

namespace stategraph::checkpoint {
namespace {

namespace fs = std::filesystem;

// RocksDB would create a new database in any folder without a CURRENT file, and would then delete the tables that it
// finds there.
void checkFolderWithoutDatabase(const DatabaseErrors& errors) {
    std::string foreign;
    for (const auto& entry : fs::directory_iterator(errors.path())) {
        const std::string name = entry.path().filename().string();
        const std::string extension = entry.path().extension().string();
        if (extension == ".sst" || (extension == ".log" && entry.file_size() > 0)) {
            errors.failDamaged("it has data (" + name + ") but no CURRENT file; restore it from a copy");
        }
        const bool is_ours = name == "LOCK" || name.starts_with("LOG") || name == "IDENTITY" || extension == ".log" ||
                             extension == ".dbtmp" || name.starts_with("MANIFEST-") || name.starts_with("OPTIONS-") ||
                             name == "lost+found";
        if (!is_ours) foreign = name;
    }
    if (!foreign.empty()) {
        errors.refuseOpening("the folder has files of something else ('" + foreign +
                             "'); give it an empty or a new folder");
    }
}

// System calls end a path at a NUL, and libstdc++'s create_directories then never returns.
void checkPath(const DatabaseErrors& errors) {
    if (errors.path().empty()) errors.refuseOpening("the path is empty; name a folder");
    if (errors.path().find('\0') != std::string::npos)
        errors.refuseOpening("the path has a byte of value 0; name a folder without one");
}

void checkFolder(const DatabaseSettings& settings, const DatabaseErrors& errors) {
    const std::string& path = errors.path();
    const bool create = settings.create_if_missing;
    const fs::file_status status = fs::status(path);
    if (!fs::exists(status)) {
        if (settings.read_only) errors.refuseOpening("there is none; opening it read_only does not make one");
        if (!create) errors.refuseOpening("there is none; check the path or set create_if_missing");
        std::error_code error;
        if (fs::is_symlink(fs::symlink_status(path, error)))
            errors.refuseOpening("it is a symbolic link to nothing; make the folder that it leads to");
        if (settings.owner_only) {
            error = makeOwnerFolders(path);
        } else {
            fs::create_directories(path, error);
        }
        if (error) errors.refuseOpening("the folder cannot be made: " + error.message());
        return;
    }
    if (!fs::is_directory(status)) errors.refuseOpening("it is a file; a database is a folder");
    if (!settings.read_only && ::access(path.c_str(), W_OK) != 0) {
        errors.refuseOpening("this process may not write there; change the permissions or open it read_only");
    }
    if (fs::exists(fs::path(path) / "CURRENT")) return;
    checkFolderWithoutDatabase(errors);
    if (settings.read_only || !create)
        errors.refuseOpening("the folder has no database; check the path or set create_if_missing");
}

[[noreturn]] void failOpening(const rocksdb::Status& status, const DatabaseErrors& errors) {
    const std::string text = status.ToString();
    if (text.find("lock hold by current process") != std::string::npos) {
        errors.refuseOpening("this process has it open already; share that object instead of making a second one");
    }
    if (status.IsIOError() && text.find("While lock file") != std::string::npos) {
        errors.refuseOpening("another process has it open (" + text + "); end it, or open this one read_only");
    }
    // A missing MANIFEST that CURRENT names is damage too, although RocksDB reports it as an IO error.
    if (status.IsPathNotFound() || status.IsNotFound() || text.find("No such file") != std::string::npos) {
        errors.failDamaged("a file is missing (" + text + "); restore it from a copy");
    }
    errors.failStatus(status, "open it");
}

void checkFormat(rocksdb::DB& db, bool read_only, const DatabaseFormat& format, const DatabaseErrors& errors) {
    const rocksdb::Slice key = slice(format.key);
    std::string version;
    const rocksdb::Status status = db.Get(rocksdb::ReadOptions(), key, &version);
    if (status.ok()) {
        if (version == std::to_string(format.version)) return;
        const bool is_number = !version.empty() && version.find_first_not_of("0123456789") == std::string::npos;
        if (is_number && version != "0") {
            errors.failUnreadable("has format " + version + ", newer than this library's " +
                                  std::to_string(format.version) + "; use a newer stategraph");
        }
        errors.failDamaged("its format version cannot be read");
    }
    if (!status.IsNotFound()) errors.failStatus(status, "read its format version");

    const std::unique_ptr<rocksdb::Iterator> rows(db.NewIterator(rocksdb::ReadOptions()));
    rows->SeekToFirst();
    if (rows->Valid()) errors.refuseOpening("it is a database of something else; give it an empty or a new folder");
    errors.check(rows->status(), "read it");
    if (read_only) return;
    rocksdb::WriteOptions write;
    write.sync = true;
    errors.check(db.Put(write, key, std::to_string(format.version)), "write its format version");
}

}  // namespace

std::string prepareFolder(const DatabaseSettings& settings, const DatabaseErrors& errors) {
    checkPath(errors);
    try {
        checkFolder(settings, errors);
        return fs::canonical(errors.path()).string();
    } catch (const fs::filesystem_error& error) {
        errors.refuseOpening(error.code().message());
    }
}

rocksdb::Options defaultOptions() {
    rocksdb::Options options;
    options.write_buffer_size = 32U << 20U;
    options.max_open_files = 512;
    options.max_background_jobs = 2;
    options.level_compaction_dynamic_level_bytes = true;  // needs less space for data that is written once
    options.max_bgerror_resume_count = 0;                 // Database::heal resumes instead
    options.stats_dump_period_sec = 0;
    options.stats_persist_period_sec = 0;
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(32U << 20U);
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

std::unique_ptr<rocksdb::DB> openFolder(const std::string& folder, const rocksdb::Options& options, bool read_only,
                                        const std::string& own_folder, const DatabaseFormat& format,
                                        const DatabaseErrors& errors) {
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = !own_folder.empty()
                                       ? rocksdb::DB::OpenAsSecondary(options, folder, own_folder, &opened)
                                   : read_only ? rocksdb::DB::OpenForReadOnly(options, folder, &opened)
                                               : rocksdb::DB::Open(options, folder, &opened);
    std::unique_ptr<rocksdb::DB> db(opened);
    if (!status.ok()) failOpening(status, errors);
    checkFormat(*db, read_only, format, errors);
    return db;
}

}  // namespace stategraph::checkpoint
