// Stands in for llama.cpp's common library when tests/test-llama-archs.cpp is
// built to write its models (-o): that path computes nothing, and what it takes
// from the library is a logger.
#pragma once
#include "ggml.h"
#include "llama.h"

#include <cstdio>
#include <cstdlib>

struct common_batch {
    common_batch(llama_context *) {}
    void clear() {}
    void add(llama_token, llama_pos, llama_seq_id, bool) {}
    llama_batch_ext * get() { abort(); }
};

enum { LOG_LEVEL_ERROR = 1, LOG_LEVEL_DEBUG = 5 };

#define LOG(...)     fprintf(stderr, __VA_ARGS__)
#define LOG_INF(...) LOG(__VA_ARGS__)
#define LOG_ERR(...) LOG(__VA_ARGS__)

inline int  common_log_get_verbosity(ggml_log_level) { return LOG_LEVEL_DEBUG; }
inline void common_log_set_verbosity_thold(int) {}
inline int  common_log_main() { return 0; }
inline void common_log_flush(int) {}
inline void common_init() {}
