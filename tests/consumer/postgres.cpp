#include <stategraph/postgres_saver.hpp>

#include "counts_twice.hpp"

// With the settings of a connection, it runs a graph there. Without them, it shows that the library links.
int main(int argc, char** argv) {
    return argc > 1 ? countsTwice(std::make_shared<stategraph::PostgresSaver>(argv[1])) : 0;
}
