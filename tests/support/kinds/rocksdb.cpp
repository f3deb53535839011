// RocksDB, for tests that run on every kind of saver and store.
#include <memory>
#include <string>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/rocksdb_store.hpp>

#include "tests/storage/store/stores.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

namespace sg = stategraph;

class Saver final : public savers::Store {
public:
    std::shared_ptr<sg::BaseCheckpointSaver> open() override {
        return std::make_shared<sg::RocksDBSaver>((folder_ / "db").string());
    }

private:
    TemporaryFolder folder_;
};

class Store final : public under_test::Home {
public:
    explicit Store(const sg::StoreOptions& options) : Home(options) { open(); }
    void reopen() override { open(); }
    bool lasts() const override { return true; }

private:
    void open() {
        store_.reset();
        store_ = std::make_shared<sg::RocksDBStore>((folder_ / "store").string(), options_);
    }

    TemporaryFolder folder_;
};

const bool is_added = [] {
    savers::lastingKinds().push_back(
        {"RocksDB", []() -> std::unique_ptr<savers::Store> { return std::make_unique<Saver>(); }});
    under_test::lastingKinds().push_back(
        {"RocksDB", [](const sg::StoreOptions& options) -> std::unique_ptr<under_test::Home> {
             return std::make_unique<Store>(options);
         }});
    return true;
}();

}  // namespace
