#pragma once
#include <string>

namespace advisor {

/// Serves the advisor on a free port, and is also its client, which prints what a page would do as lines. `page` is the
/// folder with the page's files.
void demonstrate(const std::string& page);

}  // namespace advisor
