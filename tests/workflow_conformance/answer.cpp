#include "tests/workflow_conformance/answer.hpp"

#include <utility>

#include "tests/workflow_conformance/operations.hpp"

namespace workflow_conformance {

json::object answer(const json::object& scenario, Storage& storage, const std::string& run_id) {
    Session session(get(scenario, "workflow").as_object(), storage, run_id);
    json::array run;
    for (const json::value& each : get(scenario, "run").as_array()) {
        json::object operation = each.as_object();
        operation.erase("expect");
        if (get(operation, "process") == "new") session.renew();
        json::object expect = perform(operation, session);
        operation.emplace("expect", std::move(expect));
        run.push_back(std::move(operation));
    }
    return {{"name", get(scenario, "name")}, {"run", std::move(run)}};
}

}  // namespace workflow_conformance
