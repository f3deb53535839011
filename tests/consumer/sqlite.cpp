#include <stategraph/sqlite_saver.hpp>

int main(int argc, char** argv) {
    if (argc > 1) stategraph::SqliteSaver saver(argv[1]);
}
