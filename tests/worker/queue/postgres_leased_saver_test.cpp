// SECONDS: 30
// The contract of savers under leases.
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include <stategraph/leased_saver.hpp>
#include <stategraph/testing/saver_contract.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"

using namespace postgres_tests;
using namespace stategraph;

namespace {

/// A PostgresSaver that leases each thread when it is first written to.
class AllLeased final : public ForwardingSaver {
public:
    AllLeased(const Schema& schema, const std::shared_ptr<PostgresSaver>& saver)
        : AllLeased(schema, std::make_shared<LeasedSaver>(saver)) {}
    void put(const PutRequest& request) override {
        lease(std::string(request.log.thread_id));
        ForwardingSaver::put(request);
    }
    void deleteThread(std::string_view thread_id) override {
        const std::lock_guard lock(mutex_);
        leased_.erase(std::string(thread_id));
        saver_->saver()->deleteThread(thread_id);
    }
    bool answersLater() const noexcept override { return false; }

private:
    AllLeased(const Schema& schema, std::shared_ptr<LeasedSaver> saver)
        : ForwardingSaver(saver), schema_(schema), saver_(std::move(saver)) {}
    void lease(const std::string& thread) {
        const std::lock_guard lock(mutex_);
        if (thread.empty() || !leased_.insert(thread).second) return;
        raw_.run("INSERT INTO " + schema_.name() + ".work (thread, queue, graph, epoch) VALUES (decode('" +
                 hexOf(thread) + "', 'hex'), 'q', 'g', 7) ON CONFLICT DO NOTHING");
        saver_->hold(thread, {.epoch = 7});
    }
    static std::string hexOf(const std::string& bytes) {
        constexpr const char* digits = "0123456789abcdef";
        std::string hex;
        for (const char c : bytes) {
            hex += digits[static_cast<unsigned char>(c) >> 4U];
            hex += digits[static_cast<unsigned char>(c) & 15U];
        }
        return hex;
    }

    const Schema& schema_;
    const std::shared_ptr<LeasedSaver> saver_;
    std::mutex mutex_;
    Raw raw_;
    std::set<std::string> leased_;
};

struct LeasedFactory {
    std::unique_ptr<BaseCheckpointSaver> make() { return std::make_unique<AllLeased>(schema, schema.open()); }
    std::unique_ptr<BaseCheckpointSaver> reopen() { return make(); }
    Schema schema;
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(LeasedFactory);
