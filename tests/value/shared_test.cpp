#include <stategraph/shared.hpp>

#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/json_schema.hpp>
#include <stategraph/print.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

namespace shared_values {

struct Place {
    std::string city = {};
    std::optional<std::string> country = {};
    int zip = 5;
    friend bool operator==(const Place&, const Place&) = default;
    static constexpr auto fields() {
        return sg::fields(sg::field("city", &Place::city), sg::field("country", &Place::country),
                          sg::field("zip", &Place::zip, sg::defaulted));
    }
};

struct Circle {
    static constexpr std::string_view tag = "circle";
    int radius = 0;
    static constexpr auto fields() { return sg::fields<&Circle::radius>(); }
};
struct Square {
    static constexpr std::string_view tag = "square";
    int side = 0;
    static constexpr auto fields() { return sg::fields<&Square::side>(); }
};

// Each member twice under the same name: once copied, once shared.
struct Copied {
    Place place = {};
    std::vector<Place> list = {};
    std::map<std::string, Place> map = {};
    std::optional<Place> maybe = {};
    std::variant<int, Place> either = {};
    std::variant<Circle, Square> shape = {};
    std::optional<int> none = {};
    static constexpr auto fields() {
        return sg::fields<&Copied::place, &Copied::list, &Copied::map, &Copied::maybe, &Copied::either, &Copied::shape,
                          &Copied::none>();
    }
};
struct Sharing {
    sg::Shared<Place> place = {};
    std::vector<sg::Shared<Place>> list = {};
    std::map<std::string, sg::Shared<Place>> map = {};
    std::optional<sg::Shared<Place>> maybe = {};
    std::variant<int, sg::Shared<Place>> either = {};
    std::variant<sg::Shared<Circle>, sg::Shared<Square>> shape = {};
    sg::Shared<std::optional<int>> none = {};
    static constexpr auto fields() {
        return sg::fields<&Sharing::place, &Sharing::list, &Sharing::map, &Sharing::maybe, &Sharing::either,
                          &Sharing::shape, &Sharing::none>();
    }
};

struct Tree {
    std::string name = {};
    std::vector<sg::Shared<Tree>> children = {};
    sg::Shared<std::string> note = {};
    friend bool operator==(const Tree&, const Tree&) = default;
    static constexpr auto fields() { return sg::fields<&Tree::name, &Tree::children, &Tree::note>(); }
};

const Place long_place{.city = std::string(200, 'x'), .country = "at", .zip = 1};

template <class S>
S filled() {
    return {.place = long_place,
            .list = {long_place, Place{}},
            .map = {{"a", long_place}, {"b", Place{.city = "b"}}},
            .maybe = Place{.city = "m"},
            .either = Place{.city = "e"},
            .shape = Square{3},
            .none = std::optional<int>(4)};
}

template <class T>
std::string bytes(const T& value) {
    std::string cbor;
    sg::Encoder out(cbor);
    sg::Codec<T>::encode(out, value);
    return cbor;
}

TEST_CASE("copies share one object, and an empty one is no allocation but a value") {
    const sg::Shared<Place> none;
    CHECK(*none == Place{});
    CHECK(none->zip == 5);
    sg::Shared<Place> a = long_place;
    const sg::Shared<Place> b = a;
    CHECK(&*a == &*b);
    CHECK(a == b);
    CHECK(a == sg::share(long_place));
    CHECK_FALSE(a == none);
    const sg::Shared<Place> c = std::move(a);
    CHECK(*a == Place{});  // NOLINT(bugprone-use-after-move): it stays valid
    CHECK(&*c == &*b);
    a = c;
    CHECK(*a == long_place);
}

TEST_CASE("an edit is in place for the only owner and on a copy for one of several") {
    sg::Shared<Place> a = long_place;
    const Place* before = &*a;
    CHECK(bytes(a) == bytes(long_place));
    a.edit([](Place& place) { place.zip = 2; });
    CHECK(&*a == before);
    Place changed = long_place;
    changed.zip = 2;
    CHECK(bytes(a) == bytes(changed));  // not the bytes that were kept
    const sg::Shared<Place> b = a;
    a.edit([](Place& place) { place.zip = 3; });
    CHECK(b->zip == 2);
    CHECK(a->zip == 3);
    CHECK_FALSE(bytes(a) == bytes(b));
    sg::Shared<Place> none;
    none.edit([](Place& place) { place.city = "x"; });
    CHECK(none->city == "x");
    CHECK(sg::Shared<Place>()->city.empty());
}

TEST_CASE("an edit that throws keeps the value, and one that reads the Shared sees an empty one") {
    sg::Shared<Place> a = long_place;
    CHECK_THROWS_AS(a.edit([](Place& place) {
        place.zip = 9;
        throw std::runtime_error("no");
    }),
                    std::runtime_error);
    CHECK(a->zip == 9);
    a.edit([&a](Place& place) {
        place.zip = 10;
        CHECK(bytes(a) == bytes(Place{}));
    });
    CHECK(a->zip == 10);
    CHECK(bytes(a) == bytes(*a));
}

TEST_CASE("what is stored has the bytes of what is copied, at the first and at every other encoding") {
    const auto copied = filled<Copied>();
    const auto sharing = filled<Sharing>();
    for (int i = 0; i < 3; ++i) CHECK(bytes(sharing) == bytes(copied));
    CHECK(bytes(Sharing{}) == bytes(Copied{}));
    CHECK(sg::toJson(sharing) == sg::toJson(copied));
    CHECK(bytes(sg::Value(bytes(copied)).as<std::string>()) == bytes(bytes(copied)));
    CHECK(bytes(sg::Value(copied).as<Sharing>()) == bytes(copied));
    CHECK(bytes(sg::Value(sharing).as<Copied>()) == bytes(copied));
}

TEST_CASE("every size around the limits of what is kept is encoded the same twice") {
    for (const std::size_t size : {0U, 1U, 61U, 62U, 63U, 64U, 65U, 65532U, 65533U, 65534U, 70000U}) {
        const sg::Shared<std::string> text = std::string(size, 'a');
        CHECK(bytes(text) == bytes(*text));
        CHECK(bytes(text) == bytes(*text));
    }
}

TEST_CASE("reading replaces the value of one owner, and members without a key stay as they are") {
    sg::Shared<Place> a = long_place;
    const sg::Shared<Place> b = a;
    const std::string cbor = bytes(std::map<std::string, int>{{"zip", 7}});
    sg::Decoder in(cbor);
    sg::Codec<sg::Shared<Place>>::decode(in, a);
    CHECK(a->city == long_place.city);
    CHECK(a->zip == 7);
    CHECK(*b == long_place);
}

TEST_CASE("JSON is read as strictly as for the type itself, with the same errors") {
    const char* const texts[] = {R"({"city":"a"})", R"({"city":"a","zip":1.0})", R"({"city":1})",
                                 R"({})",           R"({"city":"a","more":1})",  R"(3)"};
    for (const char* text : texts) {
        CAPTURE(text);
        const auto read = [text]<class T>(T) -> std::string {
            try {
                return sg::toJson(sg::fromJson<T>(text));
            } catch (const sg::WrongTypeError& error) {
                return error.what();
            }
        };
        CHECK(read(sg::Shared<Place>()) == read(Place()));
    }
    const std::string whole = sg::toJson(filled<Copied>());
    CHECK(sg::toJson(sg::fromJson<Sharing>(sg::toJson(sg::fromJson<Copied>(R"({"place":{"city":"c"},"list":[],"map":{},
        "either":[0,1],"shape":{"type":"circle","radius":2}})")))) ==
          sg::toJson(sg::fromJson<Copied>(R"({"place":{"city":"c"},"list":[],"map":{},"either":[0,1],
        "shape":{"type":"circle","radius":2}})")));
}

TEST_CASE("the JSON Schema and the printed text are those of the type itself") {
    CHECK(sg::jsonSchema<sg::Shared<Place>>() == sg::jsonSchema<Place>());
    std::ostringstream out;
    out << sg::share(Place{.city = "c"}) << sg::share(std::string(" text ")) << sg::share(std::vector<int>{1, 2});
    CHECK(out.str() == sg::toJson(Place{.city = "c"}) + " text [1,2]");
}

TEST_CASE("a type may hold itself") {
    Tree tree{.name = "root"};
    tree.children = {Tree{.name = "a"}, Tree{.name = "b", .note = std::string("note")}};
    const Tree read = sg::Value(tree).as<Tree>();
    CHECK(read == tree);
    CHECK(sg::jsonSchema<Tree>().find("\"$ref\"") != std::string::npos);
}

TEST_CASE("the depth of shared parts is judged as if every head had been looked at") {
    sg::Shared<Tree> tree = Tree{.name = std::string(70, 'n')};
    for (int height = 1; height < 150; ++height) {
        tree = Tree{.name = std::string(70, 'n'), .children = {tree}};
        for (int i = 0; i < 2; ++i) {  // encoded first, then copied
            std::string cbor;
            sg::Encoder out(cbor);
            sg::Codec<sg::Shared<Tree>>::encode(out, tree);
            CHECK(out.shallowBytes() <= cbor.size());
            CHECK(sg::detail::isTooDeep(cbor, 0, out.shallowBytes()) == sg::detail::isTooDeep(cbor));
        }
    }
}

TEST_CASE("several threads may copy, encode and drop the same value") {
    const sg::Shared<Place> place = long_place;
    const std::string expected = bytes(long_place);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 500; ++j) {
                sg::Shared<Place> own = place;
                if (bytes(own) != expected) ++wrong;
                own.edit([j](Place& p) { p.zip = j; });
                if (own->zip != j) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(*place == long_place);
}

static_assert(sg::Storable<sg::Shared<Place>>);
static_assert(!sg::Storable<std::optional<sg::Shared<std::optional<int>>>>);
struct Unstorable {};
static_assert(!sg::detail::wholly_storable<sg::Shared<Unstorable>>);
static_assert(std::is_nothrow_move_constructible_v<sg::Shared<Place>>);

}  // namespace shared_values
