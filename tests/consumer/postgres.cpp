#include <stategraph/postgres_saver.hpp>

int main(int argc, char** argv) {
    if (argc > 1) stategraph::PostgresSaver saver(argv[1]);
}
