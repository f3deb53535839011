#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/value.hpp>

namespace stategraph::schema {

/// Where the references of a document lead: to its parts by JSON pointer, by `$anchor`, and by `$id`.
class Places {
public:
    struct Found {
        const boost::json::value* written;
        const boost::json::value* base;
    };

    /// Notes what a schema calls itself. Returns what its references begin at: itself if it has an `$id`, else `base`.
    const boost::json::value& note(const boost::json::value& schema, const boost::json::value& base);
    /// Finds what a reference leads to. Errors: InvalidArgumentError if that is nothing, or another document.
    Found find(std::string_view reference, const boost::json::value& base) const;

private:
    std::string resolved(std::string_view id, const boost::json::value& base) const;

    std::map<std::string, const boost::json::value*, std::less<>> ids_;
    std::map<const boost::json::value*, std::string> names_;  // what each of them is called
    std::map<std::pair<const boost::json::value*, std::string>, const boost::json::value*> anchors_;
};

}  // namespace stategraph::schema
