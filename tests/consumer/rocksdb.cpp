#include <stategraph/rocksdb_saver.hpp>

#include "counts_twice.hpp"

int main() { return countsTwice(std::make_shared<stategraph::RocksDBSaver>("consumer.rocksdb")); }
