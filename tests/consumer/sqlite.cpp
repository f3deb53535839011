#include <stategraph/sqlite_saver.hpp>

#include "counts_twice.hpp"

int main() { return countsTwice(std::make_shared<stategraph::SqliteSaver>("consumer.sqlite")); }
