#include "tests/workflow_conformance/session.hpp"

#include <utility>

#include "tests/workflow_conformance/build.hpp"
#include "tests/workflow_conformance/mortal_saver.hpp"

namespace workflow_conformance {

Session::Session(const json::object& workflow, Storage& storage, std::string run_id)
    : storage_(storage), run_id_(std::move(run_id)), world_(std::make_shared<World>(workflow)) {
    storage.forget(text(get(workflow, "id")) + "/" + run_id_);
    begin();
}

void Session::begin() {
    process_ = std::make_shared<Process>(world_);
    workflow_.emplace(build(process_),
                      sg::CompileOptions{.checkpointer = std::make_shared<MortalSaver>(storage_.saver(), process_)});
}

void Session::renew() {
    workflow_.reset();
    process_ = nullptr;
    storage_.reopen();
    begin();
}

}  // namespace workflow_conformance
