#include <stategraph/store.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tests/checkpoint/bytes.hpp"
#include "tests/storage/store/stores.hpp"

namespace stategraph {
namespace {

using namespace under_test;

// The store as a plain map, with simple and slow operations.
struct ModelItem {
    int n = 0;
    std::string text;
    bool indexed = false;
    std::int64_t created = 0;
    std::int64_t updated = 0;
    std::int64_t ttl = 0;
    std::int64_t expires = 0;
};
using Name = std::pair<StoreNamespace, std::string>;

std::vector<float> vectorOf(const std::string& text) {
    std::vector<float> out(3, 0);
    for (const char c : text) out[static_cast<unsigned char>(c) % 3] += 1;
    return out;
}

double cosineOf(const std::string& a, const std::string& b) {
    const auto x = vectorOf(a);
    const auto y = vectorOf(b);
    double product = 0, xx = 0, yy = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        product += double(x[i]) * y[i];
        xx += double(x[i]) * x[i];
        yy += double(y[i]) * y[i];
    }
    return xx > 0 && yy > 0 ? product / (std::sqrt(xx) * std::sqrt(yy)) : 0;
}

class Model {
public:
    std::map<Name, ModelItem> items;
    std::int64_t now = 0;

    bool isLive(const ModelItem& item) const { return item.expires == 0 || item.expires > now; }

    void put(const Name& name, int n, const std::string& text, bool indexed, std::int64_t ttl) {
        const auto old = items.find(name);
        const bool is_new = old == items.end() || !isLive(old->second);
        items[name] = {n, text, indexed, is_new ? now : old->second.created, now, ttl, ttl > 0 ? now + ttl * 1000 : 0};
    }
    void refresh(const Name& name) {
        ModelItem& item = items.at(name);
        if (item.ttl > 0) item.expires = now + item.ttl * 1000;
    }

    struct Hit {
        Name name;
        std::optional<double> score;
    };
    std::vector<Hit> search(const StoreNamespace& prefix, int n_min, const std::string* query, std::size_t limit,
                            std::size_t offset) const {
        std::vector<Hit> hits;
        for (const auto& [name, item] : items) {
            const bool below =
                name.first.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), name.first.begin());
            if (!isLive(item) || !below || item.n < n_min) continue;
            hits.push_back({name, query && item.indexed ? std::optional(cosineOf(*query, item.text)) : std::nullopt});
        }
        // The scores of the model and of the store may differ in the last bit; the test's texts ensure that this
        // affects no tie.
        std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
            return a.score && b.score ? *a.score > *b.score + 1e-9 : a.score.has_value() && !b.score.has_value();
        });
        hits.erase(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(std::min(offset, hits.size())));
        hits.resize(std::min(limit, hits.size()));
        return hits;
    }
};

class Trial {
public:
    Trial(Home& home, bytes::Random& random) : home_(home), random_(random) { model_.now = home.clock->now_us; }

    void step() {
        switch (random_.below(12)) {
            case 0:
            case 1:
            case 2:
                return put();
            case 3:
                return batch();
            case 4:
                return remove();
            case 5:
                return get();
            case 6:
                return search(false);
            case 7:
                return search(true);
            case 8:
                return list();
            case 9:
                home_.clock->pass(static_cast<std::int64_t>(random_.below(8)));
                model_.now = home_.clock->now_us;
                return;
            case 10:
                return sweep();
            default:
                if (random_.chance(8)) home_.reopen();
        }
    }

private:
    StoreNamespace ns(bool may_be_empty = false) {
        StoreNamespace out;
        const std::size_t depth = random_.below(3) + (may_be_empty ? 0 : 1);
        for (std::size_t i = 0; i < depth; ++i)
            out.push_back(std::string(1, static_cast<char>('a' + random_.below(2))));
        if (!out.empty() && random_.chance(6)) out.back() += '\0';
        return out;
    }
    Name name() { return {ns(), std::to_string(random_.below(4))}; }

    PutOp makePut(const Name& at) {
        const int n = static_cast<int>(random_.below(10));
        // Vectors of small whole numbers in different directions: equal directions are ties that the name decides,
        // others differ clearly.
        std::string text(random_.below(3), 'a');
        text += std::string(random_.below(3), 'b') + "c";
        const bool indexed = !random_.chance(3);
        const std::int64_t ttl = random_.chance(2) ? static_cast<std::int64_t>(random_.below(20)) : 0;
        PutOptions options{.ttl = std::chrono::milliseconds(ttl)};
        if (!indexed) options.index.emplace();
        pending_[at] = [=, this] { model_.put(at, n, text, indexed, ttl); };
        return {at.first, at.second, Value(Doc{{"n", n}, {"text", text}}), options};
    }
    void applyPending() {
        for (auto& [at, effect] : pending_) effect();
        pending_.clear();
    }

    void put() {
        const StoreOp op = makePut(name());
        home_.store().batch(std::span(&op, 1));
        applyPending();
    }
    void batch() {
        std::vector<StoreOp> ops;
        for (std::size_t i = random_.below(6); i > 0; --i) {
            const Name at = name();
            if (random_.chance(4)) {
                pending_[at] = [=, this] { model_.items.erase(at); };
                ops.push_back(PutOp{at.first, at.second, {}, {}});
            } else {
                ops.push_back(makePut(at));
            }
        }
        const auto everything = model_.search({}, 0, nullptr, 1000, 0);
        ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(random_.below(ops.size() + 1)),
                   SearchQuery{.limit = 1000, .refresh_ttl = false});
        const auto results = home_.store().batch(ops);
        std::size_t found = 0;
        for (const auto& result : results) found += result.items.size();
        CHECK(found == everything.size());
        applyPending();
    }
    void remove() {
        const Name at = name();
        home_.store().remove(at.first, at.second);
        model_.items.erase(at);
    }
    void compare(const StoreItem& item, const Name& at) {
        const ModelItem& expected = model_.items.at(at);
        CHECK(Name(item.ns, item.key) == at);
        CHECK(item.value == Value(Doc{{"n", expected.n}, {"text", expected.text}}));
        CHECK(item.created_at == home_.clock->at(expected.created));
        CHECK(item.updated_at == home_.clock->at(expected.updated));
    }
    void get() {
        const Name at = name();
        const bool refresh = random_.chance(2);
        const auto item = home_.store().get(at.first, at.second, refresh);
        const auto expected = model_.items.find(at);
        const bool is_there = expected != model_.items.end() && model_.isLive(expected->second);
        REQUIRE(item.has_value() == is_there);
        if (!item) return;
        compare(*item, at);
        if (refresh) model_.refresh(at);
    }
    void search(bool ranked) {
        const StoreNamespace prefix = ns(true);
        const int n_min = static_cast<int>(random_.below(10));
        const std::string query = random_.chance(2) ? "aab" : "bc";
        const std::size_t limit = 1 + random_.below(8);
        const std::size_t offset = random_.below(4);
        const bool refresh = random_.chance(2);
        SearchQuery asked{.namespace_prefix = prefix,
                          .filter = where("n").gte(n_min),
                          .limit = limit,
                          .offset = offset,
                          .refresh_ttl = refresh};
        if (ranked) asked.query = query;
        const auto found = home_.store().search(asked);
        const auto expected = model_.search(prefix, n_min, ranked ? &query : nullptr, limit, offset);
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            compare(found[i], expected[i].name);
            REQUIRE(found[i].score.has_value() == expected[i].score.has_value());
            if (found[i].score) CHECK(*found[i].score == doctest::Approx(*expected[i].score));
        }
        if (refresh) {
            for (const auto& hit : expected) model_.refresh(hit.name);
        }
    }
    void list() {
        NamespaceQuery query;
        if (random_.chance(2)) query.prefix = ns();
        if (random_.chance(2)) query.suffix = ns();
        for (auto* pattern : {&query.prefix, &query.suffix}) {
            for (auto& label : *pattern) {
                if (random_.chance(3)) label = "*";
            }
        }
        if (random_.chance(2)) query.max_depth = 1 + random_.below(3);
        query.limit = 1 + random_.below(6);
        query.offset = random_.below(3);
        const auto matches = [](const StoreNamespace& pattern, auto label) {
            return std::all_of(pattern.begin(), pattern.end(), [&](const std::string& each) {
                const bool same = each == "*" || each == *label;
                ++label;
                return same;
            });
        };
        std::vector<StoreNamespace> expected;
        for (const auto& [at, item] : model_.items) {
            const StoreNamespace& full = at.first;
            if (!model_.isLive(item) || full.size() < query.prefix.size() || full.size() < query.suffix.size())
                continue;
            if (!matches(query.prefix, full.begin())) continue;
            if (!matches(query.suffix, full.end() - static_cast<std::ptrdiff_t>(query.suffix.size()))) continue;
            StoreNamespace cut = full;
            if (query.max_depth && cut.size() > *query.max_depth) cut.resize(*query.max_depth);
            expected.push_back(cut);
        }
        std::sort(expected.begin(), expected.end());
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        expected.erase(expected.begin(),
                       expected.begin() + static_cast<std::ptrdiff_t>(std::min(query.offset, expected.size())));
        expected.resize(std::min(query.limit, expected.size()));
        CHECK(home_.store().listNamespaces(query) == expected);
    }
    void sweep() {
        // The number is unknown, because puts have already removed some.
        std::size_t over = 0;
        for (auto it = model_.items.begin(); it != model_.items.end();) {
            const bool is_over = !model_.isLive(it->second);
            over += is_over ? 1 : 0;
            it = is_over ? model_.items.erase(it) : std::next(it);
        }
        CHECK(home_.store().sweep() <= over);
        CHECK(home_.store().sweep() == 0);
    }

    Home& home_;
    bytes::Random& random_;
    Model model_;
    std::map<Name, std::function<void()>> pending_;
};

TEST_CASE("any sequence of operations does what a plain map does") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    StoreOptions options;
    options.refresh_on_read = false;
    options.index = IndexConfig{.dims = 3,
                                .embed =
                                    [](std::span<const std::string> texts) {
                                        std::vector<std::vector<float>> out;
                                        for (const auto& text : texts) out.push_back(vectorOf(text));
                                        return out;
                                    },
                                .fields = {"text"}};
    for (int round = 0; round < 8; ++round) {
        onEach(options, [&](Home& home) {
            bytes::Random random(seed + static_cast<std::uint64_t>(round));
            Trial trial(home, random);
            for (int i = 0; i < 250; ++i) trial.step();
        });
    }
}

}  // namespace
}  // namespace stategraph
