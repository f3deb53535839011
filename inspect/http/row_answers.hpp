#pragma once
#include <string>

#include <stategraph/error.hpp>
#include <stategraph/serve/handler.hpp>

namespace stategraph::inspect {

/// An answer in CBOR (inspect/app/row_messages.hpp). Errors: Refused for one that is too large.
serve::HandlerAnswer rowsAnswer(std::string message);
/// The answer to a request that failed, from which the caller makes the same error.
serve::HandlerAnswer rowsFailure(const Error& error);

}  // namespace stategraph::inspect
