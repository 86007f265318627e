// Loads a model as llama.cpp does, checking its tensors, and computes one token.
// Says on one line how that ends: "R" refused, "N" loaded but not computed, "A".
// One file per process: a hostile one may abort or crash it.
#include "llama.h"

#include <cstdio>

int main(int, char ** argv) {
    llama_log_set([](ggml_log_level level, const char * text, void *) {
        if (level == GGML_LOG_LEVEL_ERROR) {
            fputs(text, stderr);
        }
    }, nullptr);
    llama_backend_init();
    llama_model_params how = llama_model_default_params();
    how.check_tensors = true;
    llama_model * model = llama_model_load_from_file(argv[1], how);
    if (!model) {
        puts("R");
        return 0;
    }
    llama_context_params small = llama_context_default_params();
    small.n_ctx = 64;
    small.n_threads = small.n_threads_batch = 1;
    llama_context * ctx = llama_init_from_model(model, small);
    llama_token one = 1;
    puts(ctx && llama_decode(ctx, llama_batch_get_one(&one, 1)) == 0 ? "A" : "N");
}
