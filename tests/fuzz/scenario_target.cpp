#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/conformance/operations.hpp"
#include "tests/fuzz/targets.hpp"

namespace fuzz {
namespace {

namespace json = boost::json;

constexpr std::size_t text_max = 8192;
constexpr std::size_t operations_max = 12;

// Limits the supersteps and attempts of a scenario, which may request more than is reasonable.
void tame(json::value& value) {
    if (json::array* items = value.if_array()) {
        for (json::value& item : *items) tame(item);
        return;
    }
    json::object* object = value.if_object();
    if (object == nullptr) return;
    for (auto& entry : *object) {
        const std::string_view key = entry.key();
        const bool is_limit = key == "recursion_limit" || key == "max_attempts";
        if (!is_limit) {
            tame(entry.value());
        } else if (const std::int64_t* number = entry.value().if_int64()) {
            entry.value() = std::min<std::int64_t>(*number, key == "max_attempts" ? 3 : 25);
        }
    }
    if (json::value* run = object->if_contains("run"); run != nullptr && run->is_array()) {
        json::array& operations = run->get_array();
        if (operations.size() > operations_max) operations.resize(operations_max);
    }
}

// Looks for faults of the library, and not of the scenario, that the interpreter has found.
void lookAt(const json::object& answer) {
    for (const json::value& operation : answer.at("run").as_array()) {
        const json::object& expect = operation.at("expect").as_object();
        const json::value* error = expect.if_contains("error");
        if (error == nullptr) continue;
        const std::string kind = conformance::text(error->at("kind"));
        const std::string detail = conformance::text(error->at("detail"));
        const bool differs = kind == "exception" && detail.starts_with("a snapshot's values and values_as_cbor differ");
        if (differs || kind == stategraph::toString(stategraph::Errc::corrupt_checkpoint)) found(detail);
    }
}

}  // namespace

int runScenario(const std::uint8_t* data, std::size_t size) {
    if (size > text_max) return 0;
    json::error_code error;
    json::value scenario = json::parse(json::string_view(reinterpret_cast<const char*>(data), size), error);
    if (error || !scenario.is_object()) return 0;
    tame(scenario);
    try {
        const json::object answer =
            conformance::answer(scenario.get_object(), {.saver = std::make_shared<stategraph::MemorySaver>(),
                                                        .limits = {.executions_max = 100, .input_size_max = 2000}});
        lookAt(answer);
    } catch (const std::exception&) {
        // The bytes are not a scenario.
    }
    return 0;
}

}  // namespace fuzz
