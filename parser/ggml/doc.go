// Package ggml reads the files of before GGUF that whisper.cpp still publishes and loads,
// ggml-*.bin: hyperparameters, filters, a vocabulary, tensors.
//
// # Names
//
// Tensors have the names that the file gives them, those of OpenAI's checkpoint. A shape is
// outermost dimension first; the file has it the other way around.
//
// # Rules
//
//   - The magic and eleven hyperparameters as whisper.cpp reads them. The first bytes are those of
//     all of ggml's files of that time, and other programs have other numbers behind them: what does not
//     end as whisper.cpp's is refused.
//   - The hyperparameters fit one another: none is 0, heads divide their state, encoder and decoder
//     have the same state, and the type of the weights is one that whisper.cpp writes. The loader divides
//     by the heads, and checks most of the rest by assertions.
//   - A vocabulary has as many tokens as it says, at most as many as the hyperparameters say.
//   - A tensor has one to four dimensions, for which the loader has room; a type that ggml has today;
//     whole blocks; and its own name. Name, shape and type are those of whisper.cpp's table of tensors
//     for these hyperparameters: the loader compares sizes alone, and takes the type of its table.
//   - Blocks of quantized types are those of version 2 of ggml's quantization: the older ones have other
//     layouts under the same numbers.
//   - Tensors fill the file to its end, as many as the layers have.
//
// # Order
//
// [Decode] goes through the file once, from its first byte to its last: head, filters, vocabulary,
// and tensors until the end. It ends because each part moves on. Bodies are not read.
//
// # Limits
//
//	dimensions       4
//	names            256 bytes
//	MaxItems         tokens and tensors
//	MaxExpandRatio   bytes of tensors
//
// # Not supported
//
// By name: files of llama.cpp of before GGUF (ggmf, ggjt, lora), whisper.cpp's model of voices
// (silero), and those of other programs with the same magic.
package ggml
