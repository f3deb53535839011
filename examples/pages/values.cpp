// What docs/values.md shows: JSON that is read strictly, enums by name, variants by tag, values that are shared.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <stategraph/json.hpp>
#include <stategraph/json_schema.hpp>
// [begin shared]
#include <stategraph/shared.hpp>
// [end shared]
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

// [begin strict]
struct Weather {
    std::string city = {};
    std::optional<int> days = {};
    std::string units = "metric";
    static constexpr auto fields() {
        return sg::fields(sg::field("city", &Weather::city, sg::describe("Where, in English")),
                          sg::field("days", &Weather::days), sg::field("units", &Weather::units, sg::defaulted));
    }
};
// [end strict]

// [begin enum]
enum class Colour { red, green };
constexpr auto enumNames(Colour) { return sg::enumNames<Colour>({{"red", Colour::red}, {"green", Colour::green}}); }
// [end enum]

struct Box {
    double side = 0;
    static constexpr std::string_view tag = "box";
    static constexpr auto fields() { return sg::fields<&Box::side>(); }
};
// [begin variant]
struct Circle {
    double radius = 0;
    static constexpr std::string_view tag = "circle";
    static constexpr auto fields() { return sg::fields<&Circle::radius>(); }
};
using Shape = std::variant<Circle, Box>;  // {"type":"circle","radius":1.0}
// [end variant]

struct Document {
    std::string title = {};
    static constexpr auto fields() { return sg::fields<&Document::title>(); }
};

// [begin shared]

struct State {
    std::vector<sg::Shared<Document>> documents = {};  // copying the list copies pointers
    sg::Shared<Document> newest = {};                  // the same object as an item of the list
    static constexpr auto channels() {
        return sg::channels(sg::channel<&State::documents>(sg::append), sg::channel<&State::newest>());
    }
};

sg::Update<State> addDocument(const State& state) {
    sg::Shared<Document> document = state.documents.back();   // a pointer
    document.edit([](Document& own) { own.title = "new"; });  // changes a copy, since the list owns the value too
    return {sg::add<&State::documents>(document), sg::set<&State::newest>(document)};
}
// [end shared]

void readStrictly(const std::string& arguments) {
    // [begin strict]

    const std::string schema = sg::jsonSchema<Weather>();    // for the model
    const Weather asked = sg::fromJson<Weather>(arguments);  // throws WrongTypeError that lists every fault
    // [end strict]
    std::cout << asked.city << ", a schema of " << (schema.empty() ? "no" : "some") << " bytes\n";
}

void share() {
    sg::StateGraph<State> graph;
    graph.addNode("add", addDocument).addEdge(sg::START, "add").addEdge("add", sg::END);
    const auto result = graph.compile().invoke({sg::add<&State::documents>(sg::Shared<Document>(Document{"old"}))});
    std::cout << result.values << "\n";
}

void shareJson() {
    sg::JsonSchema schema;
    schema.channel("events").channel("newest").channel("responses", sg::JsonReducer::append());
    sg::StateGraph<sg::JsonState> graph(schema);
    // [begin shared json]
    graph.addNode("four", [](const sg::JsonState& s) -> sg::Update<sg::JsonState> {
        const sg::SharedJson events = s.shared("events");           // a pointer
        return {sg::write("responses", events),                     // its elements are added as pointers
                sg::write("newest", events.back().at("content"))};  // a part, which keeps its whole alive
    });
    // [end shared json]
    graph.addEdge(sg::START, "four").addEdge("four", sg::END);
    const auto events = boost::json::parse(R"([{"content":"hello"}])");
    std::cout << graph.compile().invoke({sg::write("events", events)}).values << "\n";
}

int main() {
    readStrictly(R"({"city":"Rome","days":3.0})");
    try {
        readStrictly(R"({"town":"Rome","days":"two"})");
    } catch (const sg::WrongTypeError& error) {
        std::cout << error.message() << "\n";
    }
    std::cout << sg::Value(Colour::green) << " " << sg::Value(Shape(Circle{1.0})) << "\n";
    share();
    shareJson();
}
