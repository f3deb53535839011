#pragma once
#include <atomic>
#include <string>

namespace failover {

/// The front end: submits inputs, runs graphs, puts items, and notes in FOLDER/acks what was acknowledged, until
/// `is_ending`.
int front(const std::string& database, const std::string& folder, const std::atomic<bool>& is_ending);
/// A worker of the queue, which notes its effects in FOLDER/effects, until `is_ending`.
int work(const std::string& database, const std::string& folder, const std::string& name,
         const std::atomic<bool>& is_ending);
/// Waits until the queue is empty, and compares both journals with the database. Prints one line of JSON, and writes
/// what it did not find, or found twice, to FOLDER/findings.
int check(const std::string& database, const std::string& folder);

}  // namespace failover
