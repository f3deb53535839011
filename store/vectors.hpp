#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <stategraph/store.hpp>

#include "store/paths.hpp"

namespace stategraph::stores {

/// Throws InvalidArgumentError for a size, a function or a path that make no sense.
void checkIndex(const IndexConfig& index);

/// A query's vector, which must outlive it.
class Query {
public:
    explicit Query(std::span<const float> vector);
    /// The highest cosine with any of several vectors of its size, one after the other: in [-1, 1], and 0 with one that
    /// has no length.
    double bestCosine(std::span<const float> vectors) const;

private:
    std::span<const float> vector_;
    double length_;
};

/// The texts of a batch and, after `embed`, the vectors of each. Not thread-safe.
class Embedding {
public:
    explicit Embedding(const IndexConfig* index) : index_(index) {}

    /// A place to ask for the vectors of what was added. Errors: InvalidArgumentError for more than vectors_max texts
    /// of one item.
    std::size_t addItem(const Value& value, const std::vector<TextPath>& paths);
    std::size_t addQuery(const std::string& text);
    /// Calls the user's function, if there is a text. Errors: its own; InvalidArgumentError if what it returns is not
    /// what it must.
    void embed();
    /// Whole vectors, one after the other.
    std::span<const float> vectors(std::size_t place) const;

private:
    const IndexConfig* index_;
    std::vector<std::string> texts_;
    std::vector<std::size_t> begins_;  // of each place, in texts_
    std::vector<float> floats_;
};

}  // namespace stategraph::stores
