// EXPECT: did you mean 'removeMessage'?
// THEN: could not convert
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

sg::Message forget(const sg::Message& message) { return sg::RemoveMessage(message.id); }
