#pragma once

namespace bench {

/// A superstep on PostgreSQL that appends a message, as LangGraph.js does it on the same server.
void registerMessages();

}  // namespace bench
