#pragma once
#include "src/checkpoint/commit_fields.hpp"
#include "src/checkpoint/task_fields.hpp"

// The records of the log. Grammar (CBOR, deterministic encoding; maps list their keys in encoded order, and a key is
// left out where its value is what "absent" says):
//
//   record      := version checksum body          version: one byte, 1; 3: some operations have the value of the parent's input
//                                                 checksum: XXH3-64 of the body, seeded with the id (version 3: its complement), big endian
//   commit body := [header, operations] | [header, operations, writes]
//   header      := { "ran":      node | null      who ran last: a node, null: not one alone; absent: as in the parent
//                    "base":     ref              oldest commit that reading this one needs; absent: itself
//                    "next":     [node…]          nodes due by edge, join or release, by name
//                    "step":     int
//                    "took":     uint             microseconds of the superstep that led here, until this was made; absent: not known
//                              | [uint, uint]     and those that the run took to store the commit before, where it did
//                    "edges":    [node…]          those of "next" due by an edge; absent: all
//                    "folds":    uint             supersteps in this commit (exit durability); absent: one
//                    "graph":    bytes(8)         fingerprint of the graph; absent: as in the parent
//                    "input":    writes           input that the virtual start node has yet to take; absent: none
//                    "joins":    {join: [node…]}  joins that changed: the sources that arrived
//                    "sends":    [[node, value]…] payloads of the tasks sent
//                    "around":   bytes(16)        of an edit of a log that lives with the thread: where the graph around it was;
//                                                 zeros: it had no checkpoint; absent: this is no such edit
//                    "parent":   ref              absent: none
//                    "schema":   bytes(8)         fingerprint of the channels; absent: as in the parent
//                    "source":   text             absent: "loop"
//                    "visits":   {log: bytes(16)}     logs that live with the thread, of this graph's subgraphs, whose newest
//                                                     checkpoint on this branch changed; a log by what it adds to the namespace
//                              | [{log: bytes(16)}]   all of them: those that are not here were never visited on this branch
//                    "failure":  text             why the run that ended here has failed, as its state says; absent: it has not
//                    "parents":  {namespace: bytes(16)}   where the enclosing graphs were
//                              | [bytes(16)…]     the same, the root's first, in a log that is nested more than 8 deep: each namespace is the
//                                                 one before it and one more segment of the log's own
//                    "attempts": uint             at the node of the one task that led here; absent: one, or not known
//                    "deferred": {node: 0|1|2}    deferred edges that changed: gone, waiting, released; of joins: "join …"
//                    "metadata": {text: value} }
//   ref         := uint                           this id's high half minus the other's; their low halves are equal
//                | bytes(16)
//   operations  := {channel: ["=", value]         the value is now this
//                          | ["+", [item…]]       these were appended
//                          | ["|", {key: value}]  these entries were put
//                          | ["~", [[index, item] | [index]…]]   an element was replaced (appended at the end), erased
//                          | ["-"]                the channel is unset
//                          | "=" | "+" | "|"}     as above, with the value that the parent's "input" writes to this channel, once
//   writes      := [[channel, kind, value?]…]     what a task wrote, before the reducers: kind "=" set, "+" add,
//                                                 "!" overwrite, "w" write, "-" clear (no value)
//   In a commit, "writes" are those of the one task of the superstep that led to it; absent: they equal the operations. One of the
//   form [channel] equals the operation on that channel.
//
//   pending write body :=
//                  { "to":         [node…]          where a goto or a branch leads (static edges come from the graph)
//                    "keys":       [text…]          the key of each of "interrupts", empty: it has none; absent: none has one
//                    "node":       text
//                    "took":       [int, uint]      microseconds: when it began, since its checkpoint was made; how long it took until
//                                                 this was written; absent: not known
//                    "error":      text             of the last failed attempt; of the row "run", why the superstep has failed as a whole
//                    "gates":      [bytes(16)…]     of the row "run", the checkpoints of this superstep at whose breakpoints a run stopped
//                    "sends":      [[node, value]…]
//                    "effect":     [uint, value?]   of an effect's row: how often it was begun, its result
//                    "failed":     bool             true: the task failed after it had asked "interrupts"; absent: it did not
//                    "writes":     writes           present: the task has finished
//                    "answers":    [[bytes(16), uint, value]…]   interrupt id, how many of it were answered before, answer
//                    "failure":    [uint, text]     present: the node failed for good after so many attempts, with this text, and its
//                                                   error handler has taken over; "error" and "writes" are then the handler's
//                    "attempts":   uint             at its node, by the run that wrote this; absent: one
//                    "interrupts": [[bytes(16), uint, value]…] } the last ones it stopped at
//
//   Pending writes are keyed by a path (src/checkpoint/paths.hpp): a task's, that of an effect within a task, "command" (what a Command
//   wrote to the superstep that waits), or "run", whose "node" is how the last run ended at this checkpoint where the tasks' records
//   do not say it: "running" (it continued), "failed", "breakpoint", "interrupted", "limit", "cancelled", "timed_out", "sleeping:UNIX_MS", "edited" (no run made
//   the checkpoint) or "thread_cancelled" (the thread is cancelled for good: what is due is not to be resumed).
//
// A sealed record is one of the above, encrypted (stategraph/encrypted_saver.hpp). What savers need of it is in the
// clear:
//
//   sealed record := version checksum head box     version: one byte, 2; the checksum is that of head and box
//   head        := [clear, key id, bytes(12)]      the key's id: text; the nonce
//   clear       := { "due":      bool              of a commit: whether anything is due
//                    "base":     ref               absent: itself
//                    "root":     bytes(16)         of a subgraph's commit: the root's checkpoint; absent: none
//                    "parent":   ref               absent: none
//                    "visits" }                    as in the commit
//                | { "open":     bool }            of a pending write: whether an interrupt waits for an answer
//   box         := ciphertext tag                  to the record's end: AES-256-GCM of a whole record; the tag has 16 bytes
//   The box authenticates this as well, so that it is good for its own row alone (sized: after its size, 8 bytes big endian):
//   bound       := "stategraph sealed" version kind sized(thread) sized(namespace) id sized(path) sized(head)
//                                                  kind: "c" a commit, "w" a pending write; id: 16 bytes, as in keys.
//                                                  "g" a graph's description: no thread, the namespace "graph", the fingerprints as id
