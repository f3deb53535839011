#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <stategraph/run_control.hpp>
#include <stategraph/testing/fault_saver.hpp>
#include <stategraph/unfinished.hpp>

#include "tests/books/told.hpp"
#include "tests/books/world.hpp"
#include "tests/support/until.hpp"

// What histories of every kind have: processes that follow each other on one store, and what happens to them.
namespace books {

class History {
public:
    History(std::uint64_t seed, Place& place)
        : seed_(seed), random_(seed), place_(place), protocol_(random_.oneOf(protocols())) {}

    std::vector<std::string> wrong() const { return world_->wrong(); }
    const std::string& story() const noexcept { return story_; }

protected:
    enum class What : std::uint8_t { none, stop, drain, kill, kill_put, rival, prune, abandon, count, message };
    static const char* nameOf(What what) {
        static constexpr const char* names[] = {"",       " stop",  " drain",   " kill", " kill at a put",
                                                " rival", " prune", " abandon", "",      " message"};
        return names[static_cast<std::size_t>(what)];
    }
    /// Which moment a disturbance meets differs from run to run. So it is a test by hand and of `--nightly`.
    static bool isDisturbing() {
        return STATEGRAPH_TEST_NIGHTLY == 1 || std::getenv("STATEGRAPH_BOOKS_HISTORIES") != nullptr;
    }
    What anything() {
        if (!random_.chance(60) || !isDisturbing()) return What::none;
        return static_cast<What>(random_.below(static_cast<std::size_t>(What::count)));
    }

    /// What a client has heard of one run.
    struct Ended {
        std::string error;  // of the run, or of the request
        Told told;
        bool is_heard = false;
    };

    void openSavers() {
        inner_ = place_.open();
        fault_ = std::make_shared<sg::testing::FaultSaver>(inner_, sg::testing::FaultPlan{});
        beside_ = place_.openBeside(inner_);
    }
    void closeSavers() {
        const std::weak_ptr<sg::BaseCheckpointSaver> old = inner_;
        beside_.reset();
        fault_.reset();
        inner_.reset();
        // What was left behind ends a little later.
        const long kept = place_.isMemory() ? 1 : 0;
        if (!patience::eventually([&] { return old.use_count() <= kept; }))
            world_->complain("something holds the saver after its process has ended");
    }

    /// `cancels` stops the run if it has no control; `rival` is another process on the thread.
    void arm(What what, const std::shared_ptr<sg::RunControl>& control, std::function<void()> cancels,
             const std::function<std::function<void()>()>& rival) {
        const std::size_t nth = 1 + random_.below(12);
        if (what == What::stop && control) cancels = [control] { control->requestStop(); };
        if (what == What::stop) world_->arm(nth, cancels);
        if (what == What::drain && control) world_->arm(nth, [control] { control->requestDrain(); });
        if (what == What::kill) world_->arm(nth, [fault = fault_] { fault->arm({.fail_at = 1, .once = false}); });
        if (what == What::kill_put) fault_->arm({.fail_at = 1 + random_.below(50), .once = false});
        if (what == What::rival) world_->arm(nth, rival());
        if (what == What::prune) world_->arm(nth, [this] { beside_->prune({.keep_last = 1}); });
    }
    /// Returns whether something has happened that a caller may notice. Of a prune only subscribers may: what they had
    /// not read of the checkpoints that it drops is not reported.
    bool canBeNoticed(What what) {
        return world_->disarm() && what != What::none && what != What::prune && what != What::message;
    }
    void readCertain(const std::string& thread) {
        world_->setCertain(storedExecutions(*world_, storedBytes(*inner_, thread)));
    }
    /// Whether the list of threads has the only one as failed.
    bool isFailed() const {
        const auto unfinished = inner_->unfinishedThreads({});
        return !unfinished.empty() && unfinished[0].reason == sg::Status::failed;
    }
    void tell(const std::string& text) { story_ += text; }

    std::uint64_t seed_;
    Random random_;
    Place& place_;
    serve::Protocol protocol_;
    SharedWorld world_ = std::make_shared<World>();
    std::shared_ptr<sg::BaseCheckpointSaver> inner_, beside_;
    std::shared_ptr<sg::testing::FaultSaver> fault_;
    int disturbed_ = 0;

private:
    std::string story_;
};

}  // namespace books
