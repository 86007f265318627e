// Stands in for what llama.cpp's build writes: llama-gguf-split prints it with --version.
#pragma once

inline const char * llama_version() { return "crosscheck"; }
inline int          llama_build_number() { return 0; }
inline const char * llama_commit() { return "unknown"; }
inline const char * llama_compiler() { return "unknown"; }
inline const char * llama_build_target() { return "unknown"; }
