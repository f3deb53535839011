#pragma once
#include <functional>
#include <iosfwd>
#include <string>

namespace stategraph::inspect {

/// Writes a file. A file of this name that exists is replaced when the new one is complete, and stays as it is if
/// `write` fails; a link is followed. What is not a file, such as a device or a pipe, is written to directly, and is
/// never removed. Errors: SaverError; what `write` throws.
void writeFile(const std::string& name, const std::function<void(std::ostream&)>& write);

}  // namespace stategraph::inspect
