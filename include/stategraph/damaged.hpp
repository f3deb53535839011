#pragma once
#include <string>

namespace stategraph {

/// A thread that a call over many threads could not read, and so left as it is: a record that is damaged, of a later
/// format, or sealed with a key that is not known. `deleteThread` removes it; a copy of the storage, a newer version or
/// the key brings it back.
struct DamagedThread {
    std::string thread_id;
    /// A sentence that names the record.
    std::string why;
};

}  // namespace stategraph
