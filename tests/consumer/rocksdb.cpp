#include <stategraph/rocksdb_saver.hpp>

int main(int argc, char** argv) {
    if (argc > 1) stategraph::RocksDBSaver saver(argv[1]);
}
