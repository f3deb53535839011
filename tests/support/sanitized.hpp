#pragma once
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
