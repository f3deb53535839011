#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/error.hpp>
#include <stategraph/fields.hpp>

#include "inspect/commands.hpp"
#include "inspect/shards.hpp"

// slots, move-slots, resume-moves and check-slots: the slots of a sharded deployment (docs/sharding.md).
namespace stategraph::inspect {
#if STATEGRAPH_HAS_POSTGRES_SHARDS
namespace {

struct ClusterView {
    std::string cluster;
    std::string error;
    std::uint64_t slots = 0;
    std::string ranges;
    static constexpr auto fields() {
        return stategraph::fields(field("cluster", &ClusterView::cluster), field("error", &ClusterView::error),
                                  field("slots", &ClusterView::slots), field("ranges", &ClusterView::ranges));
    }
};

/// A slot that is not simply in one cluster.
struct SlotView {
    std::uint64_t slot = 0;
    std::string owner;
    std::string moves_to;
    bool is_dead = false;
    std::vector<std::string> leftovers;
    std::string fault;
    static constexpr auto fields() {
        return stategraph::fields(field("slot", &SlotView::slot), field("owner", &SlotView::owner),
                                  field("moves_to", &SlotView::moves_to), field("is_dead", &SlotView::is_dead),
                                  field("leftovers", &SlotView::leftovers), field("fault", &SlotView::fault));
    }
};

struct ShardsView {
    std::vector<ClusterView> clusters;
    std::vector<SlotView> notable;
    static constexpr auto fields() {
        return stategraph::fields(field("clusters", &ShardsView::clusters), field("notable", &ShardsView::notable));
    }
};

struct MovedView {
    std::uint64_t slots = 0;
    std::uint64_t threads = 0;
    std::uint64_t commits = 0;
    std::uint64_t bytes = 0;
    std::uint64_t longest_wait_ms = 0;
    std::vector<std::uint64_t> left;
    static constexpr auto fields() {
        return stategraph::fields(field("slots", &MovedView::slots), field("threads", &MovedView::threads),
                                  field("commits", &MovedView::commits), field("bytes", &MovedView::bytes),
                                  field("longest_wait_ms", &MovedView::longest_wait_ms),
                                  field("left", &MovedView::left));
    }
};

PostgresShards openShards(const Call& call) {
    const auto file = call.arguments.value("--clusters");
    if (!file) throw UsageError{"name the file of clusters: --clusters FILE, a line NAME ADDRESS for each"};
    return PostgresShards(readClusters(*file));
}

bool isNotable(const SlotStatus& slot) {
    return slot.owner.empty() || !slot.moves_to.empty() || !slot.leftovers.empty() || !slot.fault.empty();
}

bool isUnreachable(const ShardsStatus& status) {
    return std::ranges::any_of(status.clusters, [](const ClusterStatus& each) { return !each.error.empty(); });
}

ShardsView viewOf(const ShardsStatus& status) {
    ShardsView view;
    for (const ClusterStatus& each : status.clusters) {
        std::vector<std::size_t> slots;
        for (const SlotStatus& slot : status.slots) {
            if (slot.owner == each.name) slots.push_back(slot.slot);
        }
        view.clusters.push_back({each.name, each.error, slots.size(), rangesOf(slots)});
    }
    for (const SlotStatus& slot : status.slots) {
        if (isNotable(slot))
            view.notable.push_back({slot.slot, slot.owner, slot.moves_to, slot.is_dead, slot.leftovers, slot.fault});
    }
    return view;
}

std::string sentenceOf(const SlotView& slot) {
    std::string text = "slot " + std::to_string(slot.slot);
    if (!slot.fault.empty()) return text + ": " + slot.fault;
    if (slot.owner.empty()) return text + ": no cluster that can be reached knows where it is";
    text += " is in '" + slot.owner + "'";
    if (slot.moves_to == slot.owner)
        text += ", and the move to there was not ended";
    else if (!slot.moves_to.empty())
        text += slot.is_dead ? ", and a move of it to '" + slot.moves_to + "' broke off"
                             : ", and moves to '" + slot.moves_to + "'";
    for (const std::string& each : slot.leftovers) text += "; '" + each + "' still has rows of it";
    return text;
}

void print(Call& call, const ShardsView& view) {
    auto& out = call.terminal.out();
    if (call.asJson()) {
        out << toJson(view) << '\n';
        return;
    }
    for (const ClusterView& each : view.clusters) {
        out << plain(each.cluster) << "  " << each.slots << " slots";
        if (!each.ranges.empty()) out << "  " << each.ranges;
        if (!each.error.empty()) out << "  " << call.terminal.in(Colour::red, plain(each.error));
        out << '\n';
    }
    for (const SlotView& each : view.notable) {
        const Colour colour = each.fault.empty() ? Colour::yellow : Colour::red;
        out << call.terminal.in(colour, plain(sentenceOf(each))) << '\n';
    }
}

/// Moves slots one after the other, each to its own target, and says how far it is. Stops at the first that fails.
class Mover {
public:
    Mover(Call& call, PostgresShards& shards) : call_(call), shards_(shards) {
        options_.threads_at_once = call.arguments.number("--threads-at-once", options_.threads_at_once, 1);
        if (call.asJson()) return;
        options_.on_progress = [&out = call.terminal.out()](const SlotMoveEvent& event) {
            if (event.step == SlotMoveStep::moved)
                out << "slot " << event.slot << "  " << plain(event.from) << " -> " << plain(event.to) << "  "
                    << event.threads << " threads" << std::endl;
        };
    }

    void move(std::size_t slot, const std::string& to) {
        const std::size_t one[] = {slot};
        const SlotMoveReport report = shards_.moveSlots(one, to, options_);
        done_.slots += report.slots;
        done_.threads += report.threads;
        done_.commits += report.commits;
        done_.bytes += report.bytes;
        done_.longest_wait_ms =
            std::max(done_.longest_wait_ms, static_cast<std::uint64_t>(report.longest_wait.count()));
    }
    void leave(std::size_t slot) { done_.left.push_back(slot); }

    /// Prints what was done, also if an error follows.
    Exit print() const {
        auto& out = call_.terminal.out();
        if (call_.asJson()) {
            out << toJson(done_) << '\n';
        } else {
            out << done_.slots << " slots were moved, with " << done_.threads << " threads, " << done_.commits
                << " commits and " << sizeText(done_.bytes) << "; writers waited at most " << done_.longest_wait_ms
                << " ms\n";
            if (!done_.left.empty()) {
                const std::vector<std::size_t> left(done_.left.begin(), done_.left.end());
                out << "slots whose move is under way in another process were left: " << rangesOf(left) << '\n';
            }
        }
        return done_.left.empty() ? Exit::done : Exit::no;
    }

private:
    Call& call_;
    PostgresShards& shards_;
    SlotMoveOptions options_;
    MovedView done_;
};

template <class Work>
Exit moving(Call& call, PostgresShards& shards, Work&& work) {
    Mover mover(call, shards);
    try {
        work(mover);
    } catch (const Error&) {
        (void)mover.print();
        throw;
    }
    return mover.print();
}

}  // namespace

Exit showSlots(Call& call) {
    PostgresShards shards = openShards(call);
    const ShardsStatus status = shards.status();
    print(call, viewOf(status));
    return isUnreachable(status) ? Exit::failed : Exit::done;
}

Exit checkSlots(Call& call) {
    PostgresShards shards = openShards(call);
    const ShardsStatus status = shards.status();
    const ShardsView view = viewOf(status);
    print(call, view);
    if (isUnreachable(status)) return Exit::failed;
    if (!view.notable.empty()) return Exit::no;
    if (!call.asJson()) call.terminal.out() << "each slot is in one cluster, and its rows are in no other\n";
    return Exit::done;
}

Exit moveSlots(Call& call) {
    const std::vector<std::size_t> slots = slotsOf(call.place(0));
    const std::string& to = call.place(1);
    PostgresShards shards = openShards(call);
    (void)shards.find(to);
    return moving(call, shards, [&](Mover& mover) {
        for (const std::size_t slot : slots) mover.move(slot, to);
    });
}

Exit resumeMoves(Call& call) {
    PostgresShards shards = openShards(call);
    const ShardsStatus status = shards.status();
    for (const SlotStatus& slot : status.slots) {
        if (!slot.fault.empty())
            throw SaverError("slot " + std::to_string(slot.slot) + ": " + slot.fault +
                             ". Nothing was moved; look at all slots with 'stategraph slots'");
    }
    for (const ClusterStatus& each : status.clusters) {
        if (!each.error.empty()) throw SaverError("nothing was moved, because a cluster is missing: " + each.error);
    }
    return moving(call, shards, [&](Mover& mover) {
        for (const SlotStatus& slot : status.slots) {
            if (!slot.moves_to.empty() && !slot.is_dead)
                mover.leave(slot.slot);
            else if (!slot.moves_to.empty())
                mover.move(slot.slot, slot.moves_to);
            else if (!slot.leftovers.empty())
                mover.move(slot.slot, slot.owner);  // clears the others
        }
    });
}
#else
namespace {
[[noreturn]] void refuse() {
    throw SaverError(
        "this program was built without PostgreSQL, and clusters are PostgreSQL's; build stategraph with it");
}
}  // namespace
Exit showSlots(Call& /*call*/) { refuse(); }
Exit checkSlots(Call& /*call*/) { refuse(); }
Exit moveSlots(Call& /*call*/) { refuse(); }
Exit resumeMoves(Call& /*call*/) { refuse(); }
#endif

}  // namespace stategraph::inspect
