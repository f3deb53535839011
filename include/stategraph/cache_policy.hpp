#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/node.hpp>

namespace stategraph {

/// The part of a task's input on which its result depends: a callable `f(const In&)`, where `In` is what the node takes
/// (for a subgraph, the state), that returns anything storable. It is called on the task's thread, by several threads
/// at the same time; what it throws is a failure of the node.
class CacheKey {
public:
    using Call = void (*)(const void* callable, const void* input, Runtime& runtime, Encoder& out);

    /// The whole input: the channels that the node sees, or the payload of the Send.
    CacheKey() noexcept = default;

    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, CacheKey>)
    CacheKey(F&& f) : callable_(detail::own(std::forward<F>(f))) {
        using Stored = std::decay_t<F>;
        using In = typename detail::FirstParameter<Stored, void>::Type;
        static_assert(!std::is_void_v<In>,
                      "stategraph: a cache key must be callable as f(const In&), In being what the node takes, and not "
                      "be generic");
        if constexpr (!std::is_void_v<In>) {
            call_ = makeKey<In, Stored>;
            input_ = detail::NodeInput<void, In>::type();
        }
    }

    bool empty() const noexcept { return call_ == nullptr; }
    const detail::InputType& input() const noexcept { return input_; }
    void encode(const void* input, Runtime& runtime, Encoder& out) const {
        call_(callable_.get(), input, runtime, out);
    }

private:
    template <class In, class Stored>
    static void makeKey(const void* callable, const void* input, Runtime& runtime, Encoder& out) {
        auto&& holder = detail::NodeInput<void, In>::from(input, runtime);
        const In& in = holder;
        const auto key = (*static_cast<const Stored*>(callable))(in);
        static_assert(Encodable<std::decay_t<decltype(key)>>,
                      "stategraph: a cache key must return something storable, such as a std::string");
        if constexpr (Encodable<std::decay_t<decltype(key)>>) Codec<std::decay_t<decltype(key)>>::encode(out, key);
    }

    std::shared_ptr<void> callable_;
    Call call_ = nullptr;
    detail::InputType input_;
};

/// Whether a node's results are cached.
enum class CacheUse : std::uint8_t {
    by_default,  // as the graph's node defaults say; without those, not cached
    on,
    off,
};

/// Says that a node need not run again for an input that it has seen (CompileOptions::cache says where results are
/// kept), because its result is a function of the key and it has no effects. `.cache = {}` is enough.
struct CachePolicy {
    /// The part of the input on which the result depends; not given: the whole input.
    CacheKey key = {};
    /// How long a result is good for; at least 1 ms. None: until it makes room for others, or is cleared.
    std::optional<std::chrono::milliseconds> ttl = {};
    /// Separates entries that must not be mixed up: those of graphs with the same nodes and edges, or of versions of a
    /// node's code.
    std::string ns = {};
    /// Whether the node is cached.
    CacheUse use = CacheUse::on;
};

/// Says that a call need not be made again with the same arguments, in any run and thread, because its result is a
/// function of them.
struct CallCache {
    /// How long a result is good for; at least 1 ms. None: until it makes room for others, or is cleared.
    std::optional<std::chrono::milliseconds> ttl = {};
    /// Separates entries that must not be mixed up, such as those of versions of the function.
    std::string ns = {};
};

}  // namespace stategraph
