// SQLite, for tests that run on every kind of saver and store.
#include <chrono>
#include <memory>
#include <string>

#include <stategraph/sqlite_saver.hpp>
#include <stategraph/sqlite_store.hpp>

#include "tests/storage/store/stores.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

namespace sg = stategraph;

constexpr std::chrono::milliseconds patient = std::chrono::minutes(5);  // a busy disk may delay a commit

class Saver final : public savers::Store {
public:
    std::shared_ptr<sg::BaseCheckpointSaver> open() override {
        return std::make_shared<sg::SqliteSaver>((folder_ / "threads.db").string(),
                                                 sg::SqliteSaverOptions{.busy_timeout = patient});
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
        store_ = std::make_shared<sg::SqliteStore>((folder_ / "store.db").string(), options_,
                                                   sg::SqliteStoreOptions{.busy_timeout = patient});
    }

    TemporaryFolder folder_;
};

const bool is_added = [] {
    savers::lastingKinds().push_back(
        {"SQLite", []() -> std::unique_ptr<savers::Store> { return std::make_unique<Saver>(); }});
    under_test::lastingKinds().push_back(
        {"SQLite", [](const sg::StoreOptions& options) -> std::unique_ptr<under_test::Home> {
             return std::make_unique<Store>(options);
         }});
    return true;
}();

}  // namespace
