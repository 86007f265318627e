// Measures ggml's row functions for run.py: lines "NAME FILE" in, billions of
// elements a second out. Built against libggml-base.a, see run.py.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ggml.h"

enum { sources = 32, elems = 64 << 10, calls = 8 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void) {
    struct ggml_init_params p = {1 << 20, NULL, false};
    ggml_init(p);
    char line[4096], name[256], path[3000];
    float *dst = malloc(elems * sizeof(float));
    unsigned short *half = malloc(elems * sizeof(short));
    while (fgets(line, sizeof line, stdin)) {
        double best = 0;
        if (sscanf(line, "%255s %2999s", name, path) == 2) {
            char *slash = strchr(name, '/');
            int bf16 = slash && strcmp(slash, "/BF16") == 0;
            if (slash) *slash = 0;
            for (int t = 0; t < GGML_TYPE_COUNT; t++) {
                const struct ggml_type_traits *tr = ggml_get_type_traits(t);
                if (!tr->type_name || strcasecmp(tr->type_name, name) || !tr->to_float || tr->blck_size < 2) continue;
                size_t size = elems / tr->blck_size * tr->type_size;
                char *src = malloc(size * sources);
                FILE *f = fopen(path, "rb");
                if (!f || fread(src, 1, size * sources, f) != size * sources) break;
                fclose(f);
                for (int r = 0, i = 0; r < 40; r++) {
                    double begin = now();
                    for (int c = 0; c < calls; c++, i++) {
                        if (!bf16) {
                            tr->to_float(src + i % sources * size, dst, elems);
                            continue;
                        }
                        for (int e = 0; e < elems; e += 4096) { // the tile stays in the first cache
                            tr->to_float(src + i % sources * size + e / tr->blck_size * tr->type_size, dst, 4096);
                            ggml_fp32_to_bf16_row(dst, (ggml_bf16_t *)half + e, 4096);
                        }
                    }
                    double rate = (double)calls * elems / (now() - begin);
                    if (rate > best) best = rate;
                }
                free(src);
            }
        }
        printf("%.3f\n", best);
        fflush(stdout);
    }
}
