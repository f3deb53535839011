#pragma once

namespace stategraph::model {

/// What the model is told of a call of which nothing more is known.
inline constexpr const char* broken_off = "The call was broken off before its result was known. It may have run.";

}  // namespace stategraph::model
