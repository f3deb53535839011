#pragma once
#include <stategraph/model/scripted_model.hpp>

// What the scripted models say. Each answer follows from the request alone.
namespace advisor {

stategraph::model::Message profileScript(const stategraph::model::Request& request);
stategraph::model::Message researchScript(const stategraph::model::Request& request);
stategraph::model::Message synthesisScript(const stategraph::model::Request& request);
stategraph::model::Message tutorScript(const stategraph::model::Request& request);

}  // namespace advisor
