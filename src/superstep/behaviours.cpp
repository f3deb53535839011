#include <stategraph/messages.hpp>

// The behaviours of the most common channels, compiled once for all files.
namespace stategraph::detail {

#define STATEGRAPH_COMMON_BEHAVIOUR(T, FOLD) \
    constinit const Behaviour BehaviourOf<T, FOLD<T>>::behaviour = makeBehaviour<T, FOLD<T>>();
STATEGRAPH_COMMON_BEHAVIOUR(bool, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(int, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::int64_t, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::uint64_t, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(double, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::string, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::vector<int>, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::vector<int>, AppendFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::vector<std::string>, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::vector<std::string>, AppendFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::vector<Message>, MessagesFold)
#undef STATEGRAPH_COMMON_BEHAVIOUR

}  // namespace stategraph::detail
