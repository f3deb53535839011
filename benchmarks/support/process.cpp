#include "benchmarks/support/process.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <malloc.h>
#include <unistd.h>

namespace bench {

std::size_t residentBytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    std::size_t resident = 0;
    if (!(file >> pages >> resident)) return 0;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t heapBytes() {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

std::size_t openFiles() {
    std::error_code error;
    std::size_t count = 0;
    for (auto file = std::filesystem::directory_iterator("/proc/self/fd", error);
         file != std::filesystem::directory_iterator(); ++file)
        ++count;
    return count == 0 ? 0 : count - 1;  // the folder itself was open
}

std::size_t bytesToDisk() {
    std::ifstream file("/proc/self/io");
    std::string name;
    for (std::size_t bytes = 0; file >> name >> bytes;) {
        if (name == "write_bytes:") return bytes;
    }
    return 0;
}

void trimHeap() { ::malloc_trim(0); }

}  // namespace bench
