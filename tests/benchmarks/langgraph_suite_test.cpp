// The programs that are compared with LangGraph.js end with the same results as LangGraph.js. The figures are in
// isWideResult; benchmarks/peers/langgraphjs checks the same figures in each run.
#include <memory>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>

#include "benchmarks/support/sequential.hpp"
#include "benchmarks/support/wide.hpp"

namespace {

namespace sg = stategraph;
using namespace bench;

template <class Wide>
Wide ending(const WideShape& shape, sg::Update<Wide> input, bool is_saved) {
    const std::shared_ptr<sg::BaseCheckpointSaver> saver = is_saved ? std::make_shared<sg::MemorySaver>() : nullptr;
    const auto app = wideGraph<Wide>(shape.n).compile({.checkpointer = saver});
    const sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::exit, .recursion_limit = 1000};
    auto result = app.invoke(std::move(input), config);
    if (is_saved) return app.getState({.thread_id = "t"}).values;
    return result.values;
}

template <class Wide>
sg::Update<Wide> inputOf(const WideShape& shape) {
    const typename Wide::ItemType message = wideMessage<typename Wide::Map>(shape.outer, shape.inner);
    return {sg::add(&Wide::messages, message)};
}

}  // namespace

TEST_CASE("wide_state, wide_dict and pydantic_state end with LangGraph.js's result") {
    const WideShape& shape = wide_shapes[0];
    for (const bool is_saved : {false, true}) {
        CAPTURE(is_saved);
        using State = WideOf<sg::Shared<Item>>;
        CHECK(isWideResult(ending(shape, inputOf<State>(shape), is_saved), shape));
        CHECK(isWideResult(ending(shape, sg::Update<State>::of(wideInput(shape)), is_saved), shape));
        using Dict = WideOf<sg::Shared<ItemOfShared>, ItemOfShared>;
        CHECK(isWideResult(ending(shape, inputOf<Dict>(shape), is_saved), shape));
    }
    CHECK_FALSE(isWideResult(WideOf<Item>(), shape));
}

TEST_CASE("the input of pydantic_state is refused if a value has the wrong type") {
    using State = WideOf<sg::Shared<Item>>;
    const sg::Value wrong = sg::parseJson(R"({"messages":[{"0000000000":{"0000000000":"no list"}}]})");
    CHECK_THROWS_AS(sg::Update<State>::of(wrong), sg::WrongTypeError);
}

TEST_CASE("sequential calls each node once and writes no message") {
    for (const std::size_t size : {10, 1000}) {
        std::size_t calls = 0;
        const auto app = sequentialGraph(size, &calls).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto result = app.invoke(
            sequentialInput(), {.thread_id = "t", .durability = sg::Durability::exit, .recursion_limit = 1'000'000});
        CHECK(calls == size);
        CHECK(result.values.messages.empty());
        CHECK(app.getState({.thread_id = "t"}).next.empty());
    }
}
