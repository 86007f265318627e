// Loads a vision or audio part as llama.cpp's mtmd does, and builds the graph of its encoder, without a
// picture or a sound: it says which encoders there are, and how wide their results are.
#include "clip.h"

#include <cstdio>

int main(int argc, char ** argv) {
    if (argc != 2) {
        return 2;
    }
    clip_context_params how = {};
    how.flash_attn_type = CLIP_FLASH_ATTN_TYPE_DISABLED;
    how.image_min_tokens = how.image_max_tokens = -1;
    const clip_init_result got = clip_init(argv[1], how);
    if (!got.ctx_v && !got.ctx_a) {
        return 1;
    }
    if (got.ctx_v) {
        printf("vision %d\n", clip_n_mmproj_embd(got.ctx_v));
    }
    if (got.ctx_a) {
        printf("audio %d\n", clip_n_mmproj_embd(got.ctx_a));
    }
}
