#include <stategraph/schema.hpp>

#include <memory>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "json/schema/check.hpp"
#include "json/schema/defaults.hpp"
#include "json/schema/rules.hpp"
#include "json/schema/work.hpp"

namespace stategraph {
namespace {

boost::json::value read(const Value& given) {
    try {
        return given.asStrict<boost::json::value>();
    } catch (const WrongTypeError& error) {
        throw InvalidArgumentError(error.message());
    }
}

}  // namespace

ValueCheck schemaCheck(std::string_view text) {
    return [schema = schema::readSchema(text)](const Value& given) -> Value {
        boost::json::value value = read(given);
        schema::Work work(value);
        schema::fillDefaults(*schema, value, work);
        schema::Report report;
        if (!schema::Check(*schema, work).fits(schema->root, value, {}, &report))
            throw InvalidArgumentError(report.empty() ? "the value does not fit its schema" : report.text());
        return Value(value);
    };
}

}  // namespace stategraph
