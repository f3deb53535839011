#pragma once
// What the library needs of a compiler and of a machine: the headers refuse the others with a sentence.
#if (defined(__GNUC__) || defined(__clang__)) && !defined(__cpp_exceptions)
#error "stategraph: exceptions are needed, because errors are exceptions; compile without -fno-exceptions"
#endif
#if !__has_include(<stop_token>)
#error "stategraph: this standard library has no <stop_token>; use libstdc++ 12, or try a newer libc++"
#endif
static_assert(sizeof(void*) >= 8,
              "stategraph: a 64-bit machine is needed; sizes and positions of logs are not checked against 32 bits");
