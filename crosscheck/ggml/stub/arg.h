// Stands in for llama.cpp's library of arguments when tools/export-lora is built:
// what it computes is its own, of the command line it takes these four.
//
//     -m BASE   --lora ADAPTER   --lora-scaled ADAPTER:SCALE   -o OUT
#pragma once
#include "llama.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define LLM_KV_SPLIT_COUNT "split.count"

enum llama_example { LLAMA_EXAMPLE_EXPORT_LORA };

struct common_adapter_lora_info {
    std::string path;
    float       scale;
};

struct common_params {
    struct { std::string path; }  model;
    struct { int n_threads = 1; } cpuparams;
    std::vector<common_adapter_lora_info> lora_adapters;
    std::string out_file;
    int         verbosity = 0;
};

inline bool string_starts_with(const std::string & s, const std::string & prefix) { return s.rfind(prefix, 0) == 0; }

inline bool common_params_parse(int argc, char ** argv, common_params & params, llama_example, void (*usage)(int, char **)) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string flag = argv[i], value = argv[i + 1];
        const size_t      colon = value.rfind(':');
        if (flag == "-m") {
            params.model.path = value;
        } else if (flag == "-o") {
            params.out_file = value;
        } else if (flag == "--lora") {
            params.lora_adapters.push_back({ value, 1.0f });
        } else if (flag == "--lora-scaled" && colon != std::string::npos) {
            params.lora_adapters.push_back({ value.substr(0, colon), std::strtof(value.c_str() + colon + 1, nullptr) });
        } else {
            usage(argc, argv);
            return false;
        }
    }
    return argc % 2 == 1 && !params.model.path.empty() && !params.lora_adapters.empty();
}
