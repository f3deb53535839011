#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <stategraph/store.hpp>

#include "storage/store/paths.hpp"

namespace stategraph::stores {

/// Throws InvalidArgumentError for an invalid size, function or path.
void checkIndex(const IndexConfig& index);

/// The vector of a query, which must outlive this object.
class Query {
public:
    explicit Query(std::span<const float> vector);
    /// Returns the highest cosine with any of several vectors of its size, which follow each other. It is in [-1, 1],
    /// and 0 for a vector without length.
    double bestCosine(std::span<const float> vectors) const;

private:
    std::span<const float> vector_;
    double length_;
};

/// The texts of a batch and, after `embed`, the vectors of each text. Not thread-safe.
class Embedding {
public:
    explicit Embedding(const IndexConfig* index) : index_(index) {}

    /// Adds an item's texts. Returns the place at which to ask for their vectors. Errors: InvalidArgumentError if an
    /// item has more than vectors_max texts.
    std::size_t addItem(const Value& value, const std::vector<TextPath>& paths);
    std::size_t addQuery(const std::string& text);
    /// Calls the user's function if there is a text. Errors: those of the function; InvalidArgumentError if its result
    /// is not valid.
    void embed();
    /// Returns whole vectors that follow each other.
    std::span<const float> vectors(std::size_t place) const;

private:
    const IndexConfig* index_;
    std::vector<std::string> texts_;
    std::vector<std::size_t> begins_;  // where each place begins in texts_
    std::vector<float> floats_;
};

}  // namespace stategraph::stores
