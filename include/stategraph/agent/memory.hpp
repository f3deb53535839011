#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/agent/middleware.hpp>
#include <stategraph/agent/tool.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/store.hpp>

// What an agent knows of its users, in all their threads: a profile and facts, in the graph's store.
namespace stategraph::agent {

/// The options of `memory`.
struct MemoryOptions {
    /// Returns whose memory a run uses, such as the name of who asks over HTTP:
    /// `[](sg::Runtime& runtime) { return runtime.context<serve::Identity>().name; }`. Nothing that the model writes
    /// reaches it. If it returns an empty text, the run has no memory: nothing is recalled, and the tools say so.
    /// Called on the threads of runs. Required.
    std::function<std::string(Runtime& runtime)> user = {};
    /// The namespace in the store; each user's is below it.
    StoreNamespace ns = {"memory"};
    /// Whether facts are ranked by meaning, for which the store needs an index of "text" (IndexConfig::fields) or of
    /// all. Off: by how new they are.
    bool by_meaning = true;
    /// The most facts that the model receives in a turn; 0: none, only the profile.
    std::size_t facts = 5;
    /// The least score of such a fact, from -1 to 1, by meaning.
    double least_score = 0;
    /// The most bytes of the profile and of those facts that are sent with each request; facts that do not fit are left
    /// out. At least 256.
    std::size_t bytes_max = 4096;
    /// The most facts of one user; the model hears that it must remove some before it adds more. At most 10,000.
    std::size_t facts_max = 1000;
    /// How long a fact is kept that is not recalled; none: the store's default.
    std::optional<std::chrono::milliseconds> ttl = {};
    /// Middleware::name.
    std::string name = "memory";
};

/// A memory of users, in the two forms in which an agent takes it.
struct Memory {
    /// Adds the profile, and the facts that belong to the user's message, to the instructions of each call of a turn.
    Middleware recall = {};
    /// "remember_fact", "forget_fact", "search_facts" and "update_profile", for the model. They reach the user's own
    /// namespace alone.
    std::vector<Tool> tools = {};
};

/// Makes the memory of an agent whose graph has a store (CompileOptions::store):
///
///     const agent::Memory memory = agent::memory({.user = whoAsks});
///     const agent::Agent helper({…, .tools = memory.tools, .middleware = {memory.recall}, .compile = {.store = store}});
///
/// A fact is an item {"text"} of the namespace {ns…, USER, "facts"}, the profile the item "profile" of
/// {ns…, USER, "profile"}. In a label of a namespace dots, percent signs and control characters of the user's name are
/// written as "%2E". What a turn received is kept in its thread, so that all its calls receive the same. Errors:
/// InvalidArgumentError for options that make no sense; of a run: MissingStoreError, and what the store throws. Cost: a
/// get and a search of the store at the beginning of a turn, which block the thread of the run.
Memory memory(MemoryOptions options);

/// The namespace of what is known of a user, for programs that list, export or remove it. Errors: InvalidArgumentError
/// for an empty name, and for one that is longer than a label can be.
StoreNamespace memoryOf(const std::string& user, StoreNamespace ns = {"memory"});

}  // namespace stategraph::agent
