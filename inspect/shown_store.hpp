#pragma once
#include <string>

namespace stategraph::inspect {

/// Returns the name of a store as it is shown: without the key of a program's address, and with *** in place of each
/// password of a PostgreSQL address (`postgresql://USER:PASSWORD@HOST/DATABASE?password=PASSWORD`).
std::string shownStore(const std::string& store);

}  // namespace stategraph::inspect
