#include <cstdlib>
#include <fstream>

#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerInitialize(int* count, char*** values);
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    const char* folder = std::getenv("STATEGRAPH_WRITE_CORPUS");
    if (folder == nullptr) return 0;
    for (const auto& sample : fuzz::threadLinesSamples())
        std::ofstream(std::string(folder) + "/" + sample.name, std::ios::binary) << sample.bytes;
    std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::runThreadLines(data, size);
}
