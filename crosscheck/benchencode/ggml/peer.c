// Measures ggml's encoders for run.py: lines "TYPE plain|matrix|memory" in, millions of elements a
// second out. Built against libggml-base.a, see run.py.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include "ggml.h"

enum { cols = 4096, rows = 32, most = 16 << 10 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static double uniform(void) { return (rand() + 0.5) / (RAND_MAX + 1.0); }

int main(void) {
    struct ggml_init_params p = {1 << 20, NULL, false};
    ggml_init(p);
    float *numbers = malloc(sizeof(float) * rows * cols), *matrix = malloc(sizeof(float) * cols), *large = NULL;
    for (int i = 0; i < rows * cols; i++) numbers[i] = 0.02 * sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
    for (int i = 0; i < cols; i++) matrix[i] = -log(uniform());
    char name[64], how[64];
    while (scanf("%63s %63s", name, how) == 2) {
        double best = 0;
        for (int t = 0; t < GGML_TYPE_COUNT; t++) {
            const struct ggml_type_traits *tr = ggml_get_type_traits(t);
            const float *src = numbers, *weights = strcmp(how, "matrix") ? NULL : matrix;
            if (!tr->type_name || strcasecmp(tr->type_name, name) || !weights && ggml_quantize_requires_imatrix(t)) continue;
            int n = rows, calls = 1, at = 0;
            if (!strcmp(how, "memory")) {
                n = most;
                if (!large) {
                    large = malloc(sizeof(float) * most * cols);
                    for (int r = 0; r < most; r += rows) memcpy(large + (size_t)r * cols, numbers, sizeof(float) * rows * cols);
                }
                src = large;
            }
            char *dst = malloc((size_t)n * cols * 2);
            memset(dst, 1, (size_t)n * cols * 2);
            for (int tries = 0; tries < 40;) {
                double begin = now();
                for (int c = 0; c < calls; c++) {
                    ggml_quantize_chunk(t, src + (size_t)at * cols, dst + (size_t)at * cols * 2, 0, 1, cols, weights);
                    at = (at + 1) % n;
                }
                double took = now() - begin;
                if (took < 200) {
                    calls *= 2;
                    continue;
                }
                if (calls * cols / took > best) best = calls * cols / took;
                tries++;
            }
            free(dst);
        }
        printf("%.2f\n", best);
        fflush(stdout);
    }
}
