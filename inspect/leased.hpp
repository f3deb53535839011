#pragma once
#include <memory>
#include <string>

#include <stategraph/saver.hpp>

namespace stategraph::inspect {

/// Throws InvalidArgumentError if a worker has a lease on the thread, whose run a raw edit would break. Only a
/// PostgreSQL store has leases; for any other one nothing is read. Errors: SaverError.
void refuseLeased(const std::shared_ptr<BaseCheckpointSaver>& saver, const std::string& thread_id);

}  // namespace stategraph::inspect
