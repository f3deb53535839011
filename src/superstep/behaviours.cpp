#include <stdexcept>
#include <string>

#include <stategraph/messages.hpp>

// The behaviours of the most common channels, compiled once for all files, and the error of the reducer of sums.
namespace stategraph::detail {

void refuseSum(std::uint64_t a, std::uint64_t b, bool is_signed, std::size_t bits) {
    const auto text = [is_signed](std::uint64_t term) {
        return is_signed ? std::to_string(static_cast<std::int64_t>(term)) : std::to_string(term);
    };
    throw std::overflow_error("the sum of " + text(a) + " and " + text(b) + " does not fit into " +
                              (is_signed ? "a signed" : "an unsigned") + " integer of " + std::to_string(bits) +
                              " bits; give the channel a wider type, or double");
}

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
