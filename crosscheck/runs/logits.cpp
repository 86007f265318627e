// Loads a model as llama.cpp does, and writes the logits of every position of the
// tokens that stand on its command line, or what an encoder makes of them: float32, one
// row for each.
#include "llama.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

int main(int argc, char ** argv) {
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
        return 1;
    }
    std::vector<llama_token> tokens;
    for (int i = 2; i < argc; i++) {
        tokens.push_back(atoi(argv[i]));
    }
    if (tokens.empty()) { // it is only loaded
        return 0;
    }
    llama_context_params small = llama_context_default_params();
    small.n_ctx = 256;
    small.n_threads = small.n_threads_batch = 1;
    small.type_k = small.type_v = GGML_TYPE_F32;
    small.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    const llama_vocab * vocab = llama_model_get_vocab(model);
    char arch[64] = "";
    llama_model_meta_val_str(model, "general.architecture", arch, sizeof(arch));
    const bool encodes = strstr(arch, "bert") != nullptr || strcmp(arch, "gemma-embedding") == 0 || strcmp(arch, "t5encoder") == 0 || strcmp(arch, "llama-embed") == 0;
    small.embeddings = encodes;
    small.pooling_type = encodes ? LLAMA_POOLING_TYPE_NONE : LLAMA_POOLING_TYPE_UNSPECIFIED;
    llama_context * ctx = llama_init_from_model(model, small);
    if (!ctx) {
        return 2;
    }
    const int n = encodes ? llama_model_n_embd(model) : llama_vocab_n_tokens(vocab);
    llama_batch batch = llama_batch_init(tokens.size(), 0, 1);
    for (size_t i = 0; i < tokens.size(); i++) {
        batch.token[i] = tokens[i];
        batch.pos[i] = i;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = 1;
    }
    batch.n_tokens = tokens.size();
    if (strcmp(arch, "t5") == 0 && llama_encode(ctx, batch) != 0) { // and the decoder reads the same tokens
        return 4;
    }
    if ((strcmp(arch, "t5encoder") == 0 ? llama_encode : llama_decode)(ctx, batch) != 0) {
        return 3;
    }
    for (size_t i = 0; i < tokens.size(); i++) {
        fwrite(encodes ? llama_get_embeddings_ith(ctx, i) : llama_get_logits_ith(ctx, i), sizeof(float), n, stdout);
    }
}
