// JSON into structs and back, for docs/how_to/read_json.md.
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/json_schema.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

// [begin types]
struct Stop {
    std::string city = {};
    int nights = 0;
    static constexpr auto fields() { return sg::fields<&Stop::city, &Stop::nights>(); }
};
struct Tour {
    std::vector<Stop> stops = {};
    std::optional<std::string> note = {};  // may be missing
    std::string currency = "EUR";
    static constexpr auto fields() {
        return sg::fields(sg::field("stops", &Tour::stops, sg::describe("In the order of travel")),
                          sg::field("note", &Tour::note),
                          sg::field("currency", &Tour::currency, sg::defaulted));  // may be missing
    }
};
// [end types]

int main() {
    // [begin read]
    const Tour tour = sg::fromJson<Tour>(R"({"stops": [{"city": "Rome", "nights": 3.0}]})");
    std::cout << tour.stops.at(0).city << ", " << tour.stops.at(0).nights << " nights, in " << tour.currency << "\n";
    // [end read]

    // [begin wrong]
    try {
        sg::fromJson<Tour>(R"({"stops": [{"city": 7, "nights": 2.5}], "curency": "USD"})");
    } catch (const sg::WrongTypeError& error) {
        std::cout << error.message() << "\n";
    }
    // [end wrong]

    // [begin write]
    std::cout << sg::toJson(tour) << "\n";
    // [end write]

    // [begin lenient]
    const auto value = sg::parseJson(R"({"city": "Oslo", "mood": "good"})");  // what an older version has stored
    std::cout << sg::toJson(value.as<Stop>()) << "\n";
    // [end lenient]

    // [begin schema]
    std::cout << sg::jsonSchema<Stop>() << "\n";
    // [end schema]
}
