#include "workflow/reducing.hpp"

namespace stategraph::workflow {
namespace {

// Adds additions to the state, one after the other.
void reduce(const Plan& plan, const Values& before, const Additions& additions, Values& changed) {
    for (const Addition& addition : additions) {
        const auto reducer = plan.reducers->find(addition.key);
        const auto [place, is_new] = changed.try_emplace(addition.key);
        if (is_new) {
            const auto found = before.find(addition.key);
            if (found != before.end()) place->second = found->second;
        }
        const bool replaces = place->second.isNull() || reducer == plan.reducers->end();
        place->second = replaces ? addition.value : reducer->second(place->second, addition.value);
    }
}

}  // namespace

void putShared(const Plan& plan, const State& state, Executed executed, std::optional<std::int64_t> member,
               Update<State>& update) {
    if (!executed.additions.empty() && member) {
        update.with(merge(&State::additions, {{*member, std::move(executed.additions)}}));
    } else if (!executed.additions.empty()) {
        reduce(plan, state.shared, executed.additions, executed.shared);
        if (!plan.is_root) update.with(add(&State::reduced, std::move(executed.additions)));
    }
    if (!plan.is_root && !executed.shared.empty()) {
        std::map<std::string, bool> keys;
        for (const auto& [key, value] : executed.shared) keys.emplace(key, true);
        update.with(merge(&State::set_keys, std::move(keys)));
    }
    if (!executed.shared.empty()) update.with(merge(&State::shared, std::move(executed.shared)));
    if (executed.is_canceled) update.with(add<&State::is_canceled>(true));
}

Values changesOf(const Plan& plan, const Values& before, Values after, const std::set<std::string>& set_keys) {
    std::erase_if(after, [&](const auto& each) {
        if (plan.reducers->contains(each.first)) return true;  // these are among the additions
        if (set_keys.contains(each.first)) return false;
        const auto found = before.find(each.first);
        return found != before.end() && found->second == each.second;
    });
    return after;
}

void reduceAdditions(const Plan& plan, const State& state, Update<State>& update) {
    if (state.additions.empty()) return;
    Values changed;
    Additions all;
    for (const auto& [member, additions] : state.additions) {
        reduce(plan, state.shared, additions, changed);
        if (!plan.is_root) all.insert(all.end(), additions.begin(), additions.end());
    }
    update.with(merge(&State::shared, std::move(changed)));
    update.with(overwrite<&State::additions>({}));
    if (!all.empty()) update.with(add(&State::reduced, std::move(all)));
}

}  // namespace stategraph::workflow
