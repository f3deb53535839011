// ALSO PLAIN: it fails or counts allocations
// NOT WITH: sanitize=thread
#include <chrono>
#include <new>

#include <stategraph/memory_store.hpp>

#include "storage/store/engine.hpp"
#include "tests/storage/store/stores.hpp"
#include "tests/support/failing_new.hpp"

namespace stategraph {
namespace {

using namespace under_test;
using namespace std::chrono_literals;

/// Everything that a store reports about its contents.
std::vector<std::string> contents(BaseStore& store) {
    std::vector<std::string> out;
    for (const auto& item : store.search({.limit = 1000, .refresh_ttl = false})) {
        out.push_back(nameOf(item) + " " + item.value.toJson() + " " +
                      std::to_string(item.created_at.time_since_epoch().count()) + " " +
                      std::to_string(item.updated_at.time_since_epoch().count()));
    }
    return out;
}

/// Rows whose nth call fails.
class FaultRows final : public stores::OwnRows {
public:
    std::unique_ptr<stores::View> view(Reads) override {
        mayFail();
        return std::make_unique<FaultView>(*this);
    }
    void write(std::span<const stores::Change> changes, bool) override {
        mayFail();
        for (const auto& change : changes) {
            if (change.value) {
                rows_[change.key] = *change.value;
            } else {
                rows_.erase(change.key);
            }
        }
    }
    void mayFail() {
        if (fail_at > 0 && --fail_at == 0) throw StoreError("the disk is full");
    }

    int fail_at = 0;

private:
    class FaultCursor final : public stores::Cursor {
    public:
        FaultCursor(FaultRows& rows, std::string upper) : rows_(rows), upper_(std::move(upper)) {}
        bool seek(std::string_view key) override {
            rows_.mayFail();
            at_ = rows_.rows_.lower_bound(std::string(key));
            return at_ != rows_.rows_.end() && at_->first < upper_;
        }
        bool next() override {
            rows_.mayFail();
            ++at_;
            return at_ != rows_.rows_.end() && at_->first < upper_;
        }
        std::string_view key() const override { return at_->first; }
        std::string_view value() const override { return at_->second; }

    private:
        FaultRows& rows_;
        std::string upper_;
        std::map<std::string, std::string>::iterator at_;
    };
    class FaultView final : public stores::View {
    public:
        explicit FaultView(FaultRows& rows) : rows_(rows) {}
        std::optional<std::string> get(std::string_view key) override {
            rows_.mayFail();
            const auto found = rows_.rows_.find(std::string(key));
            return found == rows_.rows_.end() ? std::nullopt : std::optional(found->second);
        }
        std::unique_ptr<stores::Cursor> rows(std::string, std::string upper) override {
            return std::make_unique<FaultCursor>(rows_, std::move(upper));
        }

    private:
        FaultRows& rows_;
    };

    std::map<std::string, std::string> rows_;
};

class FaultStore final : public BaseStore {
public:
    explicit FaultStore(const StoreOptions& options) : engine_(options, rows) {}
    std::size_t sweep() override { return engine_.sweep(); }

    FaultRows rows;

protected:
    std::vector<StoreResult> apply(std::span<const StoreOp> ops) override { return engine_.apply(ops); }

private:
    stores::Engine engine_;
};

StoreOptions withClock(const std::shared_ptr<StoreClock>& clock) {
    StoreOptions options;
    options.clock = clock;
    return options;
}

void fill(BaseStore& store, StoreClock& clock) {
    store.put({"a"}, "1", Doc{{"n", 1}}, {.ttl = 1ms});
    store.put({"a"}, "2", Doc{{"n", 2}}, {.ttl = 1000ms});
    store.put({"a"}, "3", Doc{{"n", 3}});
    clock.pass(2);
}
void change(BaseStore& store) {
    store.batch({PutOp{{"a"}, "2", Value(Doc{{"n", 20}}), {.ttl = 5000ms}}, PutOp{{"a"}, "3", {}, {}},
                 PutOp{{"b"}, "4", Value(Doc{{"n", 4}}), {}}, SearchQuery{}, GetOp{{"a"}, "2", {}}, NamespaceQuery{}});
}

TEST_CASE("a store whose storage fails anywhere in a batch or a sweep has done all of it or nothing, and continues") {
    int failures = 0;
    for (int fail_at = 1;; ++fail_at) {
        CAPTURE(fail_at);
        const auto clock = std::make_shared<StoreClock>();
        FaultStore store(withClock(clock));
        fill(store, *clock);
        const auto before = contents(store);
        store.rows.fail_at = fail_at;
        bool failed = false;
        try {
            change(store);
        } catch (const StoreError& error) {
            failed = true;
            CHECK(error.message() == "the disk is full");
        }
        const bool all_done = store.rows.fail_at > 0;
        store.rows.fail_at = 0;
        if (failed) CHECK(contents(store) == before);
        change(store);
        const auto after = contents(store);
        CHECK(after.size() == 2);
        store.rows.fail_at = 1 + fail_at % 7;
        try {
            store.sweep();
        } catch (const StoreError&) {
        }
        store.rows.fail_at = 0;
        store.sweep();
        CHECK(contents(store) == after);
        failures += failed ? 1 : 0;
        if (all_done) break;
    }
    CHECK(failures > 10);
}

TEST_CASE("a memory store that runs out of memory anywhere in a batch has done all of it or nothing, and continues") {
    if (!failing_new::available()) return;
    std::size_t failures = 0;
    for (std::size_t fail_at = 1;; ++fail_at) {
        CAPTURE(fail_at);
        const auto clock = std::make_shared<StoreClock>();
        MemoryStore store(withClock(clock));
        fill(store, *clock);
        const auto before = contents(store);
        const auto bytes = store.storedBytes();
        bool failed = false;
        failing_new::arm(fail_at);
        try {
            change(store);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        const bool all_done = failing_new::disarm() == 0;
        if (failed) {
            CHECK(contents(store) == before);
            CHECK(store.storedBytes() == bytes);
        }
        change(store);
        CHECK(contents(store).size() == 2);
        failures += failed ? 1 : 0;
        if (all_done) break;
    }
    CHECK(failures > 20);
}

}  // namespace
}  // namespace stategraph
