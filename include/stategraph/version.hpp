#pragma once
/// The library's version; CMake reads it from here.
#define STATEGRAPH_VERSION_MAJOR 0
#define STATEGRAPH_VERSION_MINOR 1
#define STATEGRAPH_VERSION_PATCH 0
