#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/stategraph.hpp>

#include "tests/fault/kill/journal.hpp"

// The graph that is killed. What its nodes write depends on the state alone, so every run of it must end in the same
// state; only how long they take is random.
//
//     START ─► prepare ─► w1 w2 w3 w4 ─►(join) gather ─► Sends: piece × 3…5 ─► reduce ─► ask ─► dig ─► keep ─► tell ─► close ─► END
//                 ▲                                                                                              │
//                 └──────────────────────────────── three turns a round ─────────────────────────────────────────┘
//
// `dig` is a subgraph that begins afresh at each visit, with a fan-out in a loop; `keep` one with PER_THREAD. w4 fails
// at its first try. Questions: w2 and w3 together and twice in `ask` in round 0, in `ask` in each round, in `dig` in
// round 1, in a `piece` and in `keep` in round 2.
namespace fault {

namespace sg = stategraph;

struct Piece {
    std::string text = {};
    int number = 0;
    bool asks = false;
    static constexpr auto fields() {
        return sg::fields(sg::field("text", &Piece::text), sg::field("number", &Piece::number),
                          sg::field("asks", &Piece::asks));
    }
};

struct State {
    std::vector<std::string> inputs = {};
    std::vector<std::string> log = {};
    std::int64_t total = 0;
    std::map<std::string, std::int64_t> tallies = {};
    std::string digest = {};
    int turn = 0;

    static constexpr auto channels() {
        return sg::channels(sg::channel("inputs", &State::inputs, sg::append),
                            sg::channel("log", &State::log, sg::append), sg::channel("total", &State::total, sg::sum),
                            sg::channel("tallies", &State::tallies, sg::merge), sg::channel("digest", &State::digest),
                            sg::channel("turn", &State::turn));
    }
};

using App = sg::CompiledGraph<State>;

inline constexpr int turns_per_round = 3;
/// Where `keep` is stored.
inline constexpr const char* keep_ns = "keep";

/// Returns the graph, compiled with `saver`. Its nodes note what they do in `journal`, which must outlive it.
App makeApp(std::shared_ptr<sg::BaseCheckpointSaver> saver, Journal& journal);

/// Returns the input of a round.
sg::Update<State> inputOf(int round);
/// Returns the answer of the child and of the parent to a question, which depends on the question alone.
sg::Value answerTo(const sg::Value& question);

/// Makes an effect of a node, once for each task and key: a line in the journal, and another one when the call has
/// returned, which acknowledges it.
template <class R>
void effect(R& runtime, const Journal& journal, std::string_view key) {
    const std::string about = runtime.taskId().toString() + " " + std::string(key);
    runtime.once(key, [&] { journal.note("effect " + about); });
    journal.note("effect-done " + about);
}

}  // namespace fault
