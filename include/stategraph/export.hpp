#pragma once
#include <cstddef>
#include <iosfwd>
#include <string>

#include <stategraph/ids.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

/// What was exported, or imported.
struct ThreadRows {
    std::string thread_id;
    std::size_t commits = 0;
    /// Pending writes.
    std::size_t writes = 0;
    /// Descriptions of graphs.
    std::size_t graphs = 0;
};

/// How a thread is exported.
struct ExportOptions {
    /// Write records that are encrypted as they are stored, for a saver that stores what an EncryptedSaver gives it.
    /// Off: such a record is an error, so that the file is not mistaken for a readable one. Through the EncryptedSaver
    /// itself records are always decrypted.
    bool sealed = false;
};

/// Writes a thread, every namespace, as lines of JSON (docs/commands.md): a header, each row with its key in the clear
/// and its bytes as base64, the stored descriptions of its graphs (`putGraph`) as far as they can be read, and an end
/// that counts them, without which the lines cannot be imported. What an EncryptedSaver returns is decrypted: the lines
/// are then as secret as the thread. Records that are exported encrypted do not say their graph, and have none.
///
/// A run may be under way: the lines are as if its process had died meanwhile. Errors: InvalidArgumentError for a
/// thread without checkpoints, before anything is written; CorruptCheckpointError for a record that cannot be read, or
/// that is missing because a prune took it meanwhile: export again; SaverError, also if the stream cannot be written.
/// Cost: that of reading the thread once; a few dozen rows and the ids of one log are in memory at a time.
ThreadRows exportThread(BaseCheckpointSaver& saver, const ThreadId& thread_id, std::ostream& out,
                        const ExportOptions& options = {});

/// How a thread is imported.
struct ImportOptions {
    /// The name of the thread to make; empty: the one that it had.
    ThreadId thread_id = {};
    /// The lines may have encrypted records. The saver must be the one inside an EncryptedSaver, and the thread keeps
    /// its name, as each such record is bound to it.
    bool sealed = false;
    /// Longer lines are refused.
    std::size_t line_bytes_max = std::size_t{256} << 20U;
    /// Rows that need more bytes of memory are refused; all of them are in memory before they are stored.
    std::size_t bytes_max = std::size_t{1} << 30U;
};

/// Stores a thread that exportThread wrote, in this version or an earlier one; it reads byte for byte as the one that
/// was exported. Reads to the end of one thread and no further, so a stream may have several. Descriptions of graphs
/// are stored where the saver has none under their fingerprints, before the thread; they stay if that fails.
///
/// Every line and record is checked before anything is stored. The root's log is stored last, in one atomic write: the
/// thread exists from then on. If storing fails, what was stored before is deleted; only if another process made a
/// thread of that name meanwhile does that stay, and the error says so.
///
/// Errors: InvalidArgumentError for a thread that has checkpoints, for lines above the limits, or for encrypted records
/// without `sealed`; CorruptCheckpointError, naming the line, for what cannot be read; ThreadBusyError;
/// ConcurrentUpdateError; SaverError.
ThreadRows importThread(BaseCheckpointSaver& saver, std::istream& in, const ImportOptions& options = {});

}  // namespace stategraph
