#include <algorithm>
#include <exception>
#include <utility>

#include "storage/sharded/postgres/postgres_shards_impl.hpp"

// What clusters say of slots, put together for people who look at them.
namespace stategraph {
namespace {

using checkpoint::SlotState;

/// A slot's row in one cluster.
struct Seen {
    SlotState state{};
    std::int64_t version = 0;
    std::string owner;
    std::string peer;
    bool is_over = false;
    bool has_rows = false;
};

/// A cluster's rows; empty if it could not be reached.
struct Survey {
    std::string name;
    std::vector<Seen> slots;
};

bool isHere(SlotState state) noexcept {
    return state == SlotState::owned || state == SlotState::copying || state == SlotState::leaving;
}

/// The cluster where a row says that the slot is: of several the one with the newest version.
class OneSlot {
public:
    OneSlot(const std::vector<Survey>& surveys, std::size_t slot) : surveys_(surveys) { status_.slot = slot; }

    SlotStatus status() {
        findOwner();
        findMove();
        for (const Survey& each : surveys_) {
            if (each.slots.empty() || each.name == status_.owner || each.name == status_.moves_to) continue;
            if (seen(each).has_rows) status_.leftovers.push_back(each.name);
        }
        return std::move(status_);
    }

private:
    const Seen& seen(const Survey& survey) const { return survey.slots[status_.slot]; }

    void findOwner() {
        const Seen* newest = nullptr;
        std::vector<std::string> having;
        for (const Survey& each : surveys_) {
            if (each.slots.empty()) continue;
            const Seen& one = seen(each);
            if (newest == nullptr || one.version > newest->version) newest = &one;
            if (isHere(one.state)) having.push_back(each.name);
        }
        if (newest == nullptr) return;
        status_.owner = newest->owner;
        const auto named = std::ranges::find(surveys_, status_.owner, [](const Survey& survey) { return survey.name; });
        if (having.size() > 1)
            status_.fault = "clusters '" + having[0] + "' and '" + having[1] +
                            "' both say that they have it; was one of them restored from an old backup?";
        else if (named == surveys_.end())
            status_.fault =
                "it is said to be in the cluster '" + status_.owner + "', which is not among the given ones";
        else if (!named->slots.empty() && having.empty() && seen(*named).state != SlotState::arriving)
            status_.fault = "it is said to be in the cluster '" + status_.owner + "', which does not have it";
        else if (having.size() == 1 && having[0] != status_.owner)
            status_.fault = "the cluster '" + having[0] + "' has it, and a newer row says that '" + status_.owner +
                            "' does; was one of them restored from an old backup?";
    }

    // A move that was decided has ended for everybody but its target, which the next reader of the map tells.
    void findMove() {
        for (const Survey& each : surveys_) {
            if (each.slots.empty()) continue;
            const Seen& one = seen(each);
            if (one.state == SlotState::copying || one.state == SlotState::leaving) {
                status_.moves_to = one.peer;
                status_.is_dead = one.is_over;
                return;
            }
        }
        for (const Survey& each : surveys_) {
            if (each.slots.empty() || seen(each).state != SlotState::arriving) continue;
            status_.moves_to = each.name;
            status_.is_dead = true;  // nobody holds it for this move any more
        }
    }

    const std::vector<Survey>& surveys_;
    SlotStatus status_;
};

}  // namespace

ShardsStatus PostgresShards::status() {
    ShardsStatus status;
    std::vector<Survey> surveys;
    std::exception_ptr failed;
    for (const auto& cluster : impl_->clusters) {
        Survey survey{.name = cluster->settings.name, .slots = {}};
        ClusterStatus& one = status.clusters.emplace_back();
        one.name = survey.name;
        try {
            const auto saver = impl_->open(*cluster);
            survey.slots = saver->impl_->pool.repeat([&](checkpoint::PostgresConnection& connection) {
                const auto rows = connection.run(cluster->statements.survey, {}, "look at its slots");
                if (rows.rows() != static_cast<int>(shard_slots))
                    connection.errors().failUnreadable("is damaged: it knows of " + std::to_string(rows.rows()) +
                                                       " slots and not of " + std::to_string(shard_slots));
                std::vector<Seen> slots;
                for (int row = 0; row < rows.rows(); ++row)
                    slots.push_back({static_cast<SlotState>(rows.number(row, 1)), rows.number(row, 2),
                                     rows.copy(row, 3), rows.copy(row, 4), rows.flag(row, 5), rows.flag(row, 6)});
                return slots;
            });
        } catch (const SaverError& error) {
            one.error = error.what();
            if (!failed) failed = std::current_exception();
        } catch (const CorruptCheckpointError& error) {
            one.error = error.what();
            if (!failed) failed = std::current_exception();
        }
        surveys.push_back(std::move(survey));
    }
    if (failed && std::ranges::all_of(surveys, [](const Survey& each) { return each.slots.empty(); }))
        std::rethrow_exception(failed);
    for (std::size_t slot = 0; slot < shard_slots; ++slot) status.slots.push_back(OneSlot(surveys, slot).status());
    for (ClusterStatus& each : status.clusters)
        each.slots = static_cast<std::size_t>(std::ranges::count(status.slots, each.name, &SlotStatus::owner));
    return status;
}

}  // namespace stategraph
