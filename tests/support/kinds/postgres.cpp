// PostgreSQL, for tests that run on every kind of store; its saver has tests of its own.
#include <memory>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/storage/store/stores.hpp"

namespace {

namespace sg = stategraph;

class Store final : public under_test::Home {
public:
    explicit Store(const sg::StoreOptions& options) : Home(options) { open(); }
    ~Store() override { store_.reset(); }
    void reopen() override { open(); }
    bool lasts() const override { return true; }

private:
    void open() {
        store_.reset();
        store_ = schema_.openStore(options_);
    }

    postgres_tests::Schema schema_;
};

const bool is_added = [] {
    under_test::lastingKinds().push_back(
        {"PostgreSQL", [](const sg::StoreOptions& options) -> std::unique_ptr<under_test::Home> {
             if (!postgres_tests::isThere()) return nullptr;
             return std::make_unique<Store>(options);
         }});
    return true;
}();

}  // namespace
