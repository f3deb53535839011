#pragma once
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/door.hpp"

/// A door through which a test's functions come in between, as another process may: each is called once, before the
/// next put, after the next read, or after the next list.
class Meanwhile final : public Door {
public:
    using Door::Door;

    std::function<void()> before_put;  // of rows
    std::function<void()> after_read;
    std::function<void()> after_list;

    void put(const stategraph::PutRequest& request) override {
        if (!request.commits.empty() || !request.writes.empty()) call(before_put);
        Door::put(request);
    }
    std::optional<stategraph::CheckpointTuple> getTuple(const stategraph::TupleQuery& query) override {
        auto tuple = Door::getTuple(query);
        call(after_read);
        return tuple;
    }
    std::vector<stategraph::ListedCheckpoint> list(const stategraph::ListQuery& query) override {
        auto listed = Door::list(query);
        call(after_list);
        return listed;
    }

private:
    static void call(std::function<void()>& function) {
        if (const auto once = std::exchange(function, nullptr)) once();
    }
};
