#pragma once
#include <string>

namespace stategraph {

/// A thread that a call over many threads could not read and therefore skipped: a record that is damaged, of a later
/// format, or sealed with a key that is not known. `deleteThread` removes it; a backup of the storage, a newer version
/// of the library, or the key makes it readable again.
struct DamagedThread {
    std::string thread_id;
    /// A sentence that names the record.
    std::string why;
};

}  // namespace stategraph
