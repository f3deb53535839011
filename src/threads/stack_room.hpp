#pragma once

namespace stategraph::engine {

/// Throws GraphRecursionError if the calling thread's stack has too little room for another blocking run. Runs that are
/// nested without end would otherwise end the process. Cost: a few loads; the first call on a thread asks the system.
void checkStackRoom();

}  // namespace stategraph::engine
