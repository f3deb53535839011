#pragma once
#include <string_view>

#include <stategraph/saver.hpp>

namespace stategraph::checkpoint {

/// Copies a thread row by row, for a saver that cannot leave it to one store: because what it stores is sealed for its
/// place, or because the two threads are in different stores. `ids` lists the commits, `rows` reads and
/// stores them; both may be one saver. The copy exists once it has its root log, which is stored last. If something
/// fails, what was stored of the copy is deleted, unless another writer has it by then. Errors: InvalidArgumentError if
/// `to` has checkpoints; ConcurrentUpdateError if the source was pruned meanwhile; those of the savers.
void copyThreadRows(BaseCheckpointSaver& ids, BaseCheckpointSaver& rows, std::string_view from, std::string_view to);

}  // namespace stategraph::checkpoint
