#include "model/http/stopping.hpp"

#include <stategraph/control.hpp>
#include <stategraph/error.hpp>

namespace stategraph::model::http {

Stopping::Stopping(const Asking& asking)
    : asked_(asking.stop, Request{source_}),
      run_ended_(asking.runtime != nullptr ? stopToken(*asking.runtime) : std::stop_token(), Request{source_}) {}

void Stopping::check() const {
    if (isRequested()) throw CancelledError("the model was stopped before it answered");
}

}  // namespace stategraph::model::http
