#pragma once
#include <stategraph/testing/saver_contract/index.hpp>
#include <stategraph/testing/saver_contract/index_summaries.hpp>
#include <stategraph/testing/saver_contract/lists.hpp>
#include <stategraph/testing/saver_contract/prune.hpp>
#include <stategraph/testing/saver_contract/prune_named.hpp>
#include <stategraph/testing/saver_contract/prune_rewrite.hpp>
#include <stategraph/testing/saver_contract/prune_threads.hpp>
#include <stategraph/testing/saver_contract/put.hpp>
#include <stategraph/testing/saver_contract/storage.hpp>
#include <stategraph/testing/saver_contract/threads.hpp>
#include <stategraph/testing/saver_contract/tuples.hpp>
#include <stategraph/testing/saver_contract/writers.hpp>
#include <stategraph/testing/saver_contract/writes.hpp>

// The contract of BaseCheckpointSaver as doctest cases, for the tests of any saver; docs/savers.md explains it:
//
//   struct MyFactory {
//       std::unique_ptr<stategraph::BaseCheckpointSaver> make();      // an empty one
//       std::unique_ptr<stategraph::BaseCheckpointSaver> reopen();    // optional: on what make()'s stored, which is gone by then
//       static constexpr bool seals_records = true;                   // only if a prune cannot read the records: they are encrypted
//   };
//   STATEGRAPH_SAVER_CONTRACT(MyFactory);
//
// It needs doctest, which is why nothing else of the library includes it.

/// Runs the contract on a factory; at namespace scope, outside of any other.
#define STATEGRAPH_SAVER_CONTRACT(Factory)                               \
    namespace stategraph::testing {                                      \
    TEST_CASE_TEMPLATE_INVOKE(saver_round_trip, Factory);                \
    TEST_CASE_TEMPLATE_INVOKE(saver_bytes, Factory);                     \
    TEST_CASE_TEMPLATE_INVOKE(saver_batch, Factory);                     \
    TEST_CASE_TEMPLATE_INVOKE(saver_odd_names, Factory);                 \
    TEST_CASE_TEMPLATE_INVOKE(saver_refusals, Factory);                  \
    TEST_CASE_TEMPLATE_INVOKE(saver_pending_writes, Factory);            \
    TEST_CASE_TEMPLATE_INVOKE(saver_conditional_writes, Factory);        \
    TEST_CASE_TEMPLATE_INVOKE(saver_conditional_race, Factory);          \
    TEST_CASE_TEMPLATE_INVOKE(saver_conditional_count, Factory);         \
    TEST_CASE_TEMPLATE_INVOKE(saver_unknown_thread, Factory);            \
    TEST_CASE_TEMPLATE_INVOKE(saver_before, Factory);                    \
    TEST_CASE_TEMPLATE_INVOKE(saver_base_chain, Factory);                \
    TEST_CASE_TEMPLATE_INVOKE(saver_branches, Factory);                  \
    TEST_CASE_TEMPLATE_INVOKE(saver_list, Factory);                      \
    TEST_CASE_TEMPLATE_INVOKE(saver_heads, Factory);                     \
    TEST_CASE_TEMPLATE_INVOKE(saver_pages, Factory);                     \
    TEST_CASE_TEMPLATE_INVOKE(saver_index, Factory);                     \
    TEST_CASE_TEMPLATE_INVOKE(saver_index_statuses, Factory);            \
    TEST_CASE_TEMPLATE_INVOKE(saver_index_compared, Factory);            \
    TEST_CASE_TEMPLATE_INVOKE(saver_index_summaries, Factory);           \
    TEST_CASE_TEMPLATE_INVOKE(saver_index_order, Factory);               \
    TEST_CASE_TEMPLATE_INVOKE(saver_delete, Factory);                    \
    TEST_CASE_TEMPLATE_INVOKE(saver_root, Factory);                      \
    TEST_CASE_TEMPLATE_INVOKE(saver_delete_race, Factory);               \
    TEST_CASE_TEMPLATE_INVOKE(saver_copy, Factory);                      \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune, Factory);                     \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_needs, Factory);               \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_interrupts, Factory);          \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_exactly, Factory);             \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_branches, Factory);            \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_writers, Factory);             \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_pays, Factory);                \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_named, Factory);               \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_named_race, Factory);          \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_tasks, Factory);               \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_subgraph_interrupts, Factory); \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_visits, Factory);              \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_edits, Factory);               \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_unused, Factory);              \
    TEST_CASE_TEMPLATE_INVOKE(saver_compare_and_swap, Factory);          \
    TEST_CASE_TEMPLATE_INVOKE(saver_pruned_ancestors, Factory);          \
    TEST_CASE_TEMPLATE_INVOKE(saver_put_branches, Factory);              \
    TEST_CASE_TEMPLATE_INVOKE(saver_forks, Factory);                     \
    TEST_CASE_TEMPLATE_INVOKE(saver_frozen_writer, Factory);             \
    TEST_CASE_TEMPLATE_INVOKE(saver_equal_clocks, Factory);              \
    TEST_CASE_TEMPLATE_INVOKE(saver_race, Factory);                      \
    TEST_CASE_TEMPLATE_INVOKE(saver_write_race, Factory);                \
    TEST_CASE_TEMPLATE_INVOKE(saver_parallel, Factory);                  \
    TEST_CASE_TEMPLATE_INVOKE(saver_reopen, Factory);                    \
    TEST_CASE_TEMPLATE_INVOKE(saver_crash, Factory);                     \
    TEST_CASE_TEMPLATE_INVOKE(saver_stored_bytes, Factory);              \
    TEST_CASE_TEMPLATE_INVOKE(saver_graphs, Factory);                    \
    }                                                                    \
    static_assert(true, "stategraph: a semicolon follows")
