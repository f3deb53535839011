#include "inspect/views.hpp"

#include <string>

#include <doctest/doctest.h>

// What the commands and the page show about a thread, as data.
namespace sg = stategraph;

namespace {

std::string textOf(const sg::Cause& cause) {
    const sg::TaskCauses task{.id = {}, .name = "both", .path = "pull:both", .causes = {cause}};
    return sg::inspect::viewOf(task).causes.at(0).text;
}

TEST_CASE("of a join's sources those that arrived before the last one are said with their step") {
    CHECK(textOf({sg::CauseKind::join, {{"a", "", 2}, {"b", "pull:b", 2}}}) == "the join of a and b");
    CHECK(textOf({sg::CauseKind::join, {{"a", "", 1}, {"b", "", 4}, {"c", "pull:c", 7}}}) ==
          "the join of a (arrived at step 1), b (arrived at step 4) and c");
    CHECK(textOf({sg::CauseKind::join, {{"a", "", {}}, {"b", "pull:b", 7}}}) ==
          "the join of a (arrived earlier) and b");
    CHECK(textOf({sg::CauseKind::join, {{"a", "", {}}, {"b", "", {}}}}) == "the join of a and b");
    CHECK(textOf({sg::CauseKind::edge, {{"a", "pull:a"}}}) == "the edge from a");
}

TEST_CASE("the steps at which a join's sources arrived are data, by their names") {
    const sg::Cause cause{sg::CauseKind::join, {{"a", "", 1}, {"b", "", {}}, {"c", "pull:c", 7}}};
    const auto view = sg::inspect::viewOf({.id = {}, .name = "both", .path = "pull:both", .causes = {cause}});
    const auto& arrived = view.causes.at(0).arrived;
    CHECK(arrived.size() == 2);
    CHECK(arrived.at("a") == 1);
    CHECK(arrived.at("c") == 7);
}

}  // namespace
