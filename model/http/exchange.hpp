#pragma once
#include <memory>
#include <string>

#include <stategraph/model/model.hpp>
#include <stategraph/task.hpp>

#include "model/http/http_client.hpp"
#include "model/http/http_stream.hpp"

namespace stategraph::model::http {

/// Sends a request and returns the whole body of its answer, within the client's limits; it is sent again after errors
/// that may be temporary. `asking` must live until the task has ended; its listener is not called. Errors: ModelError
/// for a status that is not of success, and for an answer that is too long; CancelledError.
Task<std::string> exchange(std::shared_ptr<const HttpClient> client, std::string body, const Asking& asking);

/// Reads the body of a refusal as far as it arrives, and returns the error.
Task<ModelError> refused(const HttpClient& client, HttpStream& stream, HttpHead head);

}  // namespace stategraph::model::http
