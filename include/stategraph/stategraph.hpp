#pragma once
/// All of the library but what costs compile time or needs another one: JSON (stategraph/json.hpp), coroutines
/// (async.hpp, asio.hpp) and RocksDB (rocksdb_saver.hpp, rocksdb_store.hpp). Apart are too, because few files need
/// them: a cache on a store (store_cache.hpp), subscribers (stream_hub.hpp), NDJSON (ndjson.hpp), observers
/// (observer.hpp, spans.hpp), functions as runs (functional.hpp), graphs as data (graph_description.hpp), JSON that is
/// still being written (partial_json.hpp, partial.hpp, partial_display.hpp), and what only writers of savers use
/// (saver_rules.hpp, testing/).
#include <stategraph/cache.hpp>
#include <stategraph/cache_policy.hpp>
#include <stategraph/channel.hpp>
#include <stategraph/codec.hpp>
#include <stategraph/command.hpp>
#include <stategraph/compatibility.hpp>
#include <stategraph/compiled_graph.hpp>
#include <stategraph/config.hpp>
#include <stategraph/error.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/failure.hpp>
#include <stategraph/graph.hpp>
#include <stategraph/id_source.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/messages.hpp>
#include <stategraph/print.hpp>
#include <stategraph/record.hpp>
#include <stategraph/recover.hpp>
#include <stategraph/retention.hpp>
#include <stategraph/retry.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/snapshot.hpp>
#include <stategraph/stats.hpp>
#include <stategraph/store.hpp>
#include <stategraph/store_filter.hpp>
#include <stategraph/stream.hpp>
#include <stategraph/unfinished.hpp>
#include <stategraph/update.hpp>
#include <stategraph/value.hpp>
#include <stategraph/version.hpp>
