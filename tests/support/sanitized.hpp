#pragma once
#include <cstdlib>

// Which sanitizers this is compiled with, as g++ and clang++ say it: 1 or 0.
#if defined(__has_feature)
#define STATEGRAPH_CLANG_SANITIZER(name) __has_feature(name)
#else
#define STATEGRAPH_CLANG_SANITIZER(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || STATEGRAPH_CLANG_SANITIZER(address_sanitizer)
#define STATEGRAPH_WITH_ASAN 1
#else
#define STATEGRAPH_WITH_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || STATEGRAPH_CLANG_SANITIZER(thread_sanitizer)
#define STATEGRAPH_WITH_TSAN 1
#else
#define STATEGRAPH_WITH_TSAN 0
#endif

#ifndef STATEGRAPH_TEST_NIGHTLY
#define STATEGRAPH_TEST_NIGHTLY 0
#endif

namespace sanitized {

/// Where cases differ in data alone, and the code that they execute is the same, a build with a sanitizer tries one
/// of this many; a build without, and the nightly ones, try all. A prime number, so that what alternates from case
/// to case still does.
inline constexpr unsigned one_of = (STATEGRAPH_WITH_ASAN || STATEGRAPH_WITH_TSAN) && !STATEGRAPH_TEST_NIGHTLY ? 5 : 1;
/// Which of them, counted from 0. scripts/test.sh counts the commits in STATEGRAPH_TEST_TURN, so that the builds of
/// five commits try all.
inline unsigned turn() {
    static const char* const given = std::getenv("STATEGRAPH_TEST_TURN");
    return given == nullptr ? 0 : static_cast<unsigned>(std::strtoul(given, nullptr, 10)) % one_of;
}
/// How many of such cases this build tries: `all`, or a part of them, but at least two.
constexpr unsigned some(unsigned all) {
    if (one_of == 1 || all <= 2) return all;
    return all < 2 * one_of ? 2 : all / one_of;
}

}  // namespace sanitized
