// Opens GGUF files as ggml does and says of each, on one line, how that ends:
// "R" refused, or "A" and a digest of every key, tensor and byte of data. Build:
//
//   g++ -O1 -I LLAMA_CPP/ggml/include probe.cpp libggml-base.a -lpthread -lm
//
// One file per process: a hostile one may abort it.
#include "ggml.h"
#include "gguf.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

static uint64_t h = 14695981039346656037ull; // FNV-1a

static void feed(const void * p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        h = (h ^ ((const unsigned char *) p)[i]) * 1099511628211ull;
    }
}

static void feed(const char * s) { feed(s, strlen(s) + 1); }

static size_t sizeOf(gguf_type t) {
    switch (t) {
        case GGUF_TYPE_UINT8: case GGUF_TYPE_INT8: case GGUF_TYPE_BOOL: return 1;
        case GGUF_TYPE_UINT16: case GGUF_TYPE_INT16: return 2;
        case GGUF_TYPE_UINT32: case GGUF_TYPE_INT32: case GGUF_TYPE_FLOAT32: return 4;
        default: return 8;
    }
}

int main(int argc, char ** argv) {
    const bool data = argc > 2 && !strcmp(argv[2], "data");
    ggml_log_set([](ggml_log_level, const char * text, void *) { fputs(text, stderr); }, nullptr);
    ggml_context * ctx = nullptr;
    gguf_context * g = gguf_init_from_file(argv[1], { !data, &ctx });
    if (!g) {
        puts("R");
        return 0;
    }
    for (int64_t i = 0; i < gguf_get_n_kv(g); i++) {
        const char * key = gguf_get_key(g, i);
        if (!strcmp(key, "general.alignment")) {
            continue; // layout
        }
        feed(key);
        gguf_type t = gguf_get_kv_type(g, i);
        feed(&t, sizeof t);
        if (t == GGUF_TYPE_STRING) {
            feed(gguf_get_val_str(g, i));
        } else if (t != GGUF_TYPE_ARRAY) {
            feed(gguf_get_val_data(g, i), sizeOf(t));
        } else {
            gguf_type e = gguf_get_arr_type(g, i);
            size_t n = gguf_get_arr_n(g, i);
            feed(&e, sizeof e);
            feed(&n, sizeof n);
            if (e == GGUF_TYPE_STRING) {
                for (size_t j = 0; j < n; j++) {
                    feed(gguf_get_arr_str(g, i, j));
                }
            } else {
                feed(gguf_get_arr_data(g, i), n * sizeOf(e));
            }
        }
    }
    for (ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        if (!strcmp(t->name, "GGUF tensor data binary blob")) {
            continue;
        }
        feed(t->name);
        feed(&t->type, sizeof t->type);
        feed(t->ne, sizeof t->ne);
        if (data) {
            feed(t->data, ggml_nbytes(t));
        }
    }
    printf("A %016llx\n", (unsigned long long) h);
    gguf_free(g);
    ggml_free(ctx);
}
