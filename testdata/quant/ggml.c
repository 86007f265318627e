// Decodes blocks of one ggml type from standard input to float32 on standard
// output, with ggml's own functions. ggml.sh builds and runs it.
#include <stdio.h>
#include <stdlib.h>

#include "ggml.h"
#define GGML_COMMON_DECL_C
#include "ggml-common.h"
#include "ggml-quants.h"

int main(int argc, char ** argv) {
    if (argc != 2) {
        return 2;
    }
    struct ggml_init_params params = {1 << 20, NULL, false};
    ggml_init(params);
    const enum ggml_type type = (enum ggml_type) atoi(argv[1]);
    const size_t cap = 1 << 24;
    char * raw = malloc(cap);
    const size_t got = fread(raw, 1, cap, stdin);
    const size_t n = got / ggml_type_size(type) * ggml_blck_size(type);
    float * out = malloc(n * sizeof(float));
    if (type == GGML_TYPE_Q8_K) {
        dequantize_row_q8_K((const block_q8_K *) raw, out, n);
    } else {
        ggml_get_type_traits(type)->to_float(raw, out, n);
    }
    fwrite(out, sizeof(float), n, stdout);
    return 0;
}
