// Encodes rows as ggml does, for crosscheck/quantize. Standard input is jobs: four
// int32 (ggml's type, rows, columns, whether a matrix follows), the rows, and the
// matrix, all of little-endian float32. Each job's bytes go to standard output.
#include "ggml.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static std::vector<float> floats(size_t n) {
    std::vector<float> p(n);
    if (fread(p.data(), sizeof(float), n, stdin) != n) exit(1);
    return p;
}

int main() {
    ggml_init({1 << 20, nullptr, false});
    int32_t job[4];
    while (fread(job, sizeof *job, 4, stdin) == 4) {
        auto type = static_cast<ggml_type>(job[0]);
        auto rows = floats(static_cast<size_t>(job[1]) * job[2]), matrix = floats(job[3] ? job[2] : 0);
        std::vector<char> out(ggml_row_size(type, job[2]) * job[1]);
        ggml_quantize_chunk(type, rows.data(), out.data(), 0, job[1], job[2], job[3] ? matrix.data() : nullptr);
        fwrite(out.data(), 1, out.size(), stdout);
        fflush(stdout);
    }
}
