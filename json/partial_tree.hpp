#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "json/crowded_object.hpp"

namespace stategraph::detail {

/// A JSON value that is built from the outside inwards and can be read meanwhile. It knows which containers, and which
/// string or number, are open.
///
/// Pointers to open containers stay valid, because a container gets no new element while one of its elements is open.
class PartialTree {
public:
    PartialTree() = default;
    PartialTree(const PartialTree&) = delete;
    PartialTree& operator=(const PartialTree&) = delete;

    /// Sets where the next value goes if the innermost container is an object. If keys are equal, the last value
    /// counts.
    void setKey(std::string_view key) { key_.assign(key); }

    /// Adds a value to the innermost container, or makes it the root, and opens it.
    void open(boost::json::value value);
    /// Returns the open string or number, or null.
    boost::json::value* leaf() noexcept { return leaf_; }
    void closeLeaf() noexcept { leaf_ = nullptr; }
    void closeContainer() noexcept { containers_.pop_back(); }

    bool hasRoot() const noexcept { return has_root_; }
    const boost::json::value& root() const noexcept { return root_; }
    std::size_t depth() const noexcept { return containers_.size(); }
    bool isOpen(const boost::json::value& part) const noexcept;
    bool isLeaf(const boost::json::value& part) const noexcept { return leaf_ == &part; }
    /// Returns whether there is a key `__proto__`, or `prototype` in an object under the key `constructor`.
    bool hasRefusedKey() const noexcept { return refused_keys_ != 0; }

private:
    struct Container {
        boost::json::value* value;
        bool is_constructor;
        std::unique_ptr<FloodWatch> watch = {};  // of an object with many members
    };
    boost::json::value& place(boost::json::value&& value);
    static void watchNames(Container& container, const boost::json::object& object);
    boost::json::value& placeInObject(boost::json::object& object, boost::json::value&& value);

    boost::json::value root_ = nullptr;
    std::vector<Container> containers_;
    boost::json::value* leaf_ = nullptr;
    std::string key_;
    std::size_t refused_keys_ = 0;
    bool has_root_ = false;
};

}  // namespace stategraph::detail
