#include <map>

#include <doctest/doctest.h>
#include <stategraph/json.hpp>
#include <stategraph/messages.hpp>
#include <stategraph/saver_rules.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"
#include "tests/support/sanitized.hpp"
#if STATEGRAPH_HAS_ENCRYPTION
#include "tests/support/encryption.hpp"
#endif

// A history derives the values of a checkpoint from those of a newer one. Each must equal what getState returns for
// that checkpoint alone: for random threads with forks, edits, messages that are removed and replaced, values that come
// and go, full snapshots and prunes, and also after an error in the middle of a walk.
namespace sg = stategraph;
using namespace history;

namespace {

bool is_fussy = false;
std::size_t codings = 0;

/// A text whose codec fails on demand.
struct Fussy {
    std::string text = {};
    friend bool operator==(const Fussy&, const Fussy&) = default;
};

/// A text whose codec counts.
struct Counted {
    std::string text = {};
};

}  // namespace

template <>
struct stategraph::Codec<Counted> {
    static void encode(Encoder& out, const Counted& counted) {
        ++codings;
        out.text(counted.text);
    }
    static void decode(Decoder& in, Counted& counted) {
        ++codings;
        counted.text = in.text();
    }
};

template <>
struct stategraph::Codec<Fussy> {
    static void encode(Encoder& out, const Fussy& fussy) { out.text(fussy.text); }
    static void decode(Decoder& in, Fussy& fussy) {
        fussy.text = in.text();
        if (is_fussy && fussy.text.ends_with("3")) throw WrongTypeError("fussy");
    }
};

namespace {

struct Talk {
    std::vector<sg::Message> messages = {};
    std::vector<std::string> said = {};
    std::vector<int> numbers = {1, 2, 3};
    std::map<std::string, int> counts = {};
    std::vector<std::string> topic = {};
    std::optional<std::string> flash = {};
    std::string last = {};
    int rounds = 0;
    Fussy zzz_fussy = {};
    friend bool operator==(const Talk&, const Talk&) = default;
    static constexpr auto channels() {
        return sg::channels(
            sg::channel("messages", &Talk::messages, sg::addMessages), sg::channel("said", &Talk::said, sg::append),
            sg::channel("numbers", &Talk::numbers, sg::append), sg::channel("counts", &Talk::counts, sg::merge),
            sg::channel("topic", &Talk::topic, sg::topic), sg::channel("flash", &Talk::flash, sg::ephemeral),
            sg::channel("last", &Talk::last), sg::channel("rounds", &Talk::rounds, sg::sum),
            sg::channel("zzz_fussy", &Talk::zzz_fussy));
    }
};
using TalkApp = sg::CompiledGraph<Talk>;

sg::Update<Talk> randomUpdate(bytes::Random& random, const Talk& s) {
    sg::Update<Talk> update{sg::add(&Talk::rounds, 1)};
    const std::string number = std::to_string(s.rounds);
    const std::size_t some = s.messages.empty() ? 0 : random.below(s.messages.size());
    const std::size_t act = random.below(12);
    if (act < 6) update.with(sg::add(&Talk::messages, sg::Message{"user", random.text(300), ""}));
    if (act == 6 && !s.messages.empty()) update.with(sg::add(&Talk::messages, sg::removeMessage(s.messages[some].id)));
    if (act == 7 && !s.messages.empty())
        update.with(sg::add(&Talk::messages, sg::Message{"user", "edited " + number, s.messages[some].id}));
    if (act == 8 && random.chance(3))
        update.with(sg::overwrite(&Talk::messages, std::vector<sg::Message>{{"user", "anew", "id" + number}}));
    if (act == 9) update.with(sg::clear(&Talk::last));
    if (act == 10) update.with(sg::overwrite(&Talk::said, std::vector<std::string>(random.below(40), number)));
    if (act == 11) update.with(sg::clear(&Talk::said));
    if (act < 9 && random.chance(2)) update.with(sg::set(&Talk::last, random.text(30)));
    if (act < 10) {
        for (std::size_t i = random.below(4); i > 0; --i) update.with(sg::add(&Talk::said, random.text(60)));
    }
    if (random.chance(3)) update.with(sg::add(&Talk::numbers, static_cast<int>(random.below(100))));
    if (random.chance(3))
        update.with(sg::add(&Talk::counts, std::map<std::string, int>{{"k" + std::to_string(random.below(9)), 1}}));
    if (random.chance(3)) update.with(sg::add(&Talk::topic, number));
    if (random.chance(4)) update.with(sg::set(&Talk::flash, number));
    update.with(sg::set(&Talk::zzz_fussy, Fussy{number}));
    return update;
}

/// Loops five times for each input.
TalkApp talk(const SharedSaver& saver, bytes::Random& random) {
    sg::StateGraph<Talk> graph;
    graph.addNode("say", [&random](const Talk& s) -> sg::Update<Talk> { return randomUpdate(random, s); })
        .addEdge(sg::START, "say")
        .addConditionalEdges("say", [](const Talk& s) { return s.rounds % 5 != 0 ? "say" : sg::END; });
    return graph.compile({.checkpointer = saver});
}

// Makes inputs, edits and inputs at old checkpoints, so that neighbouring checkpoints belong to different branches.
void grow(const TalkApp& app, const std::string& thread, bytes::Random& random, int acts) {
    app.invoke({sg::set(&Talk::last, "begin")}, {.thread_id = thread});
    for (int i = 0; i < acts; ++i) {
        sg::CheckpointId id;
        if (random.chance(3)) {
            const auto past = historyOf(app, {.thread_id = thread}, {.values = false});
            id = past[random.below(past.size())].config.checkpoint_id;
        }
        if (random.chance(4)) {
            app.updateState({.thread_id = thread, .checkpoint_id = id}, {sg::add(&Talk::said, "edit")},
                            {.as_node = "say"});
        } else {
            app.invoke({sg::set(&Talk::last, "input")}, {.thread_id = thread, .checkpoint_id = id});
        }
    }
}

template <class S>
void compareOne(const sg::StateSnapshot<S>& snapshot, const sg::StateSnapshot<S>& alone) {
    CAPTURE(snapshot.config.checkpoint_id.toString());
    REQUIRE(snapshot.values_as_cbor == alone.values_as_cbor);
    REQUIRE(snapshot.values == alone.values);
    REQUIRE(snapshot.present == alone.present);
    REQUIRE(snapshot.valuesAsJson() == alone.valuesAsJson());
    REQUIRE(snapshot.tasks.size() == alone.tasks.size());
}

template <class S>
std::size_t compare(const sg::CompiledGraph<S>& app, const std::string& thread, const sg::HistoryOptions& options) {
    std::size_t count = 0;
    std::vector<sg::StateSnapshot<S>> kept;
    for (const auto& snapshot : app.getStateHistory({.thread_id = thread}, options)) {
        compareOne(snapshot, app.getState(snapshot.config));
        kept.push_back(snapshot);
        ++count;
    }
    // Copies that were taken from the walk did not change afterwards.
    for (const auto& snapshot : kept) compareOne(snapshot, app.getState(snapshot.config));
    return count;
}

/// Tests in memory, on RocksDB, and on both of them encrypted.
template <class F>
void onEverySaver(F test) {
    onBothSavers([&test](const SharedSaver& saver) { test(saver); });
#if STATEGRAPH_HAS_ENCRYPTION
    onBothSavers([&test](const SharedSaver& saver) {
        INFO("encrypted");
        test(std::make_shared<sg::EncryptedSaver>(saver, encryption::key("k1")));
    });
#endif
}

/// A list that grows, next to a value that stays.
struct Titled {
    std::string title = {};
    std::vector<std::string> v = {};
    friend bool operator==(const Titled&, const Titled&) = default;
    static constexpr auto channels() {
        return sg::channels(sg::channel("title", &Titled::title), sg::channel("v", &Titled::v, sg::append));
    }
};

struct Long {
    std::vector<Counted> messages = {};
    int n = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Long::messages, sg::append), sg::channel("n", &Long::n));
    }
};

/// Returns how many messages a walk through a thread of `size` messages encodes and decodes.
std::size_t codingsOfWalk(int size, const sg::HistoryOptions& options) {
    sg::StateGraph<Long> graph;
    graph
        .addNode("say",
                 [](const Long& s) -> sg::Update<Long> {
                     return {sg::add(&Long::messages, Counted{std::string(200, 'm')}), sg::set(&Long::n, s.n + 1)};
                 })
        .addEdge(sg::START, "say")
        .addConditionalEdges("say", [size](const Long& s) { return s.n < size ? "say" : sg::END; });
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.invoke({}, {.thread_id = "t", .recursion_limit = size});
    codings = 0;
    std::size_t count = 0;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "t"}, options)) {
        CHECK(snapshot.values.messages.size() + count >= static_cast<std::size_t>(size));
        ++count;
    }
    CHECK(count >= options.limit.value_or(static_cast<std::size_t>(size)));
    return codings;
}

/// Fails on demand.
class FailingSaver final : public CountingSaver {
public:
    bool fails = false;
    std::size_t failures = 0;

    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
        failIfAsked();
        return CountingSaver::getTuple(query);
    }
    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override {
        failIfAsked();
        return CountingSaver::list(query);
    }

private:
    void failIfAsked() {
        if (!fails) return;
        ++failures;
        throw sg::SaverError("not now");
    }
};

/// Whether each of the newest commits can be rewritten as a whole. One that edits a list of messages that nothing has
/// set cannot: the next commit is whole. A prune that would have to rewrite it leaves the log as Rewrite::never does.
bool canRewrite(sg::BaseCheckpointSaver& saver, const std::string& thread, std::size_t newest) {
    for (const auto& row : saver.list({.thread_id = thread, .limit = newest})) {
        try {
            (void)sg::checkpoint::wholeCommit({.thread_id = thread},
                                              *saver.getTuple({.log = {.thread_id = thread}, .checkpoint_id = row.id}));
        } catch (const sg::CorruptCheckpointError&) {
            return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("each checkpoint of a history is what getState says of it, over random threads on every saver") {
    const auto seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    onEverySaver([seed](const SharedSaver& saver) {
        bytes::Random random(seed);
        const TalkApp app = talk(saver, random);
        for (int round = 0; round < (sanitized::one_of == 1 ? 3 : 1); ++round) {
            const std::string thread = "thread " + std::to_string(round);
            grow(app, thread, random, 25);
            const auto rows = saver->list({.thread_id = thread});
            REQUIRE(rows.size() > 40);
            CHECK(compare(app, thread, {}) == rows.size());
            const std::size_t at = random.below(rows.size() - 10);
            CHECK(compare(app, thread, {.before = rows[at].id}) == rows.size() - at - 1);
            CHECK(compare(app, thread, {.limit = 7, .before = rows[at].id}) == 7);
            CHECK(compare(app, thread, {.filter = {{"source", "loop"}}}) < rows.size());
            const bool can_rewrite = canRewrite(*saver, thread, 15);
            saver->copyThread(thread, thread + " as it is");
            saver->prune({.thread_id = thread + " as it is", .keep_last = 15, .rewrite = sg::Rewrite::never});
            saver->prune({.thread_id = thread, .keep_last = 15});
            const std::size_t kept = compare(app, thread, {});
            CHECK((kept == 15 || (!can_rewrite && kept == saver->list({.thread_id = thread + " as it is"}).size())));
        }
    });
}

TEST_CASE("each checkpoint of a history of a JSON state is what getState says of it") {
    const auto seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    using sg::JsonState;
    onBothSavers([seed](const SharedSaver& saver) {
        bytes::Random random(seed);
        sg::JsonSchema schema;
        schema.channel("list", sg::JsonReducer::append()).channel("map", sg::JsonReducer::merge());
        schema.channel("rounds", sg::JsonReducer::append()).channel("last");
        sg::StateGraph<JsonState> graph(schema);
        graph
            .addNode("say",
                     [&random](const JsonState&) {
                         sg::Update<JsonState> update{sg::write("rounds", 1)};
                         if (!random.chance(4))
                             update.with(sg::write("list", boost::json::array{random.text(60), 1.5}));
                         if (random.chance(3))
                             update.with(sg::write("map", boost::json::object{{std::to_string(random.below(9)), 1}}));
                         if (random.chance(3)) update.with(sg::write("last", std::to_string(random.bits())));
                         return update;
                     })
            .addEdge(sg::START, "say")
            .addConditionalEdges(
                "say", [](const JsonState& s) { return s["rounds"].as_array().size() % 9 != 0 ? "say" : sg::END; });
        const auto app = graph.compile({.checkpointer = saver});
        for (int i = 0; i < 8; ++i) app.invoke({sg::write("last", i)}, {.thread_id = "t"});
        CHECK(compare(app, "t", {}) == saver->list({.thread_id = "t"}).size());
    });
}

TEST_CASE("a walk continues after an error with the right values, and its place stays") {
    const auto seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    bytes::Random random(seed);
    const auto saver = std::make_shared<FailingSaver>();
    const TalkApp app = talk(saver, random);
    grow(app, "t", random, 40);
    auto history = app.getStateHistory({.thread_id = "t"});
    auto it = history.begin();
    std::size_t refused = 0;
    while (it != history.end()) {
        const auto stood_at = *it;
        try {
            saver->fails = random.chance(2);
            is_fussy = random.chance(2);
            ++it;
        } catch (const sg::SaverError&) {
        } catch (const sg::CorruptCheckpointError&) {
            ++refused;
        }
        saver->fails = is_fussy = false;
        if (it == history.end()) break;
        compareOne(*it, app.getState(it->config));
        if (it->config == stood_at.config) compareOne(*it, stood_at);
    }
    CHECK(saver->failures > 0);
    CHECK(refused > 0);
}

TEST_CASE("a page that cannot be read loses nothing of the values that the next ones are made of") {
    const auto saver = std::make_shared<FailingSaver>();
    sg::StateGraph<Titled> graph;
    graph.addNode("a", [](const Titled&) -> sg::Update<Titled> { return {sg::add(&Titled::v, std::string("a"))}; })
        .addEdge(sg::START, "a");
    const auto app = graph.compile({.checkpointer = saver});
    app.invoke({sg::set(&Titled::title, "set once")}, {.thread_id = "t"});
    // The thread is so long that no commit on the way holds the whole state.
    for (int i = 0; i < 30; ++i)
        app.invoke({sg::add(&Titled::v, std::string(500, static_cast<char>('a' + i % 26)))}, {.thread_id = "t"});
    std::size_t count = 1;
    auto history = app.getStateHistory({.thread_id = "t"});
    auto it = history.begin();
    while (it != history.end()) {
        const auto stood_at = *it;
        saver->fails = true;
        try {
            ++it;
        } catch (const sg::SaverError&) {
            CHECK(it->values == stood_at.values);
            saver->fails = false;
            ++it;
        }
        saver->fails = false;
        if (it == history.end()) break;
        const auto alone = app.getState(it->config);
        REQUIRE(it->values == alone.values);
        REQUIRE(it->values_as_cbor == alone.values_as_cbor);
        ++count;
    }
    CHECK(saver->failures > 0);
    CHECK(count == saver->list({.thread_id = "t"}).size());
}

TEST_CASE("a walk through a conversation reads each message a few times, and not once for each checkpoint") {
    constexpr int length = sanitized::some(100);
    const std::size_t small = codingsOfWalk(length, {});
    const std::size_t large = codingsOfWalk(4 * length, {});
    CHECK(small > 0);
    CHECK(large < 6 * small);
    // Two states are used in turn.
    CHECK(codingsOfWalk(4 * length, {.limit = 10}) < std::size_t{20} * length);
}
