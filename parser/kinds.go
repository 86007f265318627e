package parser

import (
	"io"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/lzma"
	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/dcp"
	"github.com/anamnesis-go/anamnesis/parser/ggml"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/tflite"
)

// Opens says how a kind of content is opened.
type Opens uint8

// The ways.
const (
	NotOpened  Opens = iota // it is recognized, and refused
	AsModel                 // as tensors, by this package
	AsPickle                // as a pickle
	AsPacked                // layer by layer: each content is judged by itself
	AsGraph                 // by its structure; its tensors too, if there is a reader of them
	AsText                  // as a text that may be beside a model
	AsHarmless              // no loader takes it for a model
)

// A kind is a row of the table of kinds of content.
type kind struct {
	name  string // "gguf": what errors and policies call it
	title string // "gzip data"
	// advice is for people who gave such a file in place of a model; "" if no error names
	// this kind.
	advice string
	// exts are the extensions that promise this kind. Those of models mark weights in a
	// folder.
	exts    []string
	also    []string // extensions of its files that promise another kind
	behind  string   // the archive that may follow it, whose files the gate judges
	opens   Opens
	fits    func(*head) fit // what the structure says; nil if only the judge can tell
	byName  bool            // the name decides: other kinds have the same structure
	of      []string        // the packings that a library's own archive may have
	loaders []string        // who loads it
	judge   string          // the package that proves or refuses it

	// Of what has tensors.

	// reads is the title of a graph or a packing whose tensors are read, "" for models.
	reads string
	// decode reads one file.
	decode func(*limits.Budget, io.ReaderAt, *Identity) (tensor.Model, error)
	// index reads the model that an index describes, shards a model whose files are in
	// one folder; nil if a model is always one file.
	index  func(*limits.Budget, fs.FS, string) (tensor.Model, error)
	shards func(*limits.Budget, fs.FS, []string) (tensor.Model, error)
	// isShard reports whether a file name is that of a part of a set; nil if there are no
	// sets.
	isShard func(string) bool
}

const (
	unpack = "unpack it first"
	// beside is the advice for files that accompany a model's weights.
	beside = "it is not a model itself: open the weights beside it, or their folder"
)

// kinds are all kinds of content. No content has two formats of models: it is refused
// instead. Of the other kinds the first that fits names the content: magic bytes before
// text, and a single byte last.
var kinds = [...]kind{
	{
		name: "ggml", title: "GGML file of whisper.cpp", also: []string{".bin"}, opens: AsModel, judge: "parser/ggml",
		loaders: []string{"whisper.cpp"},
		fits:    magic(ggml.Magic), decode: modelDecoder(ggml.Decode),
	},
	{
		name: "gguf", title: "GGUF", exts: []string{".gguf"}, opens: AsModel, judge: "parser/gguf",
		loaders: []string{"ggml", "llama.cpp", "gguf-py", "ollama"},
		fits:    fitsGGUF, decode: modelDecoder(gguf.Decode),
		shards: openSplit, isShard: isSplit,
	},
	{
		name: "npy", title: "NPY array", exts: []string{".npy"}, opens: AsModel, judge: "parser/npy",
		loaders: []string{"numpy.load"},
		fits:    fitsNPY, decode: modelDecoder(npy.Decode),
	},
	{
		name: "npz", title: "NPZ archive", exts: []string{".npz"}, opens: AsModel, judge: "parser/npz",
		loaders: []string{"numpy.load", "zipfile"},
		fits:    fitsNPZ, decode: decodeNPZ,
	},
	{
		name: "pth", title: "PyTorch checkpoint", exts: []string{".pth", ".pt", ".bin", ".ckpt"}, opens: AsModel, judge: "parser/pth",
		loaders: []string{"torch.load"},
		fits:    fitsPTH, decode: decodePTH,
		index: openPTHIndex, shards: openPTHShards,
	},
	{
		name: "safetensors", title: "safetensors", exts: []string{".safetensors"}, opens: AsModel, judge: "parser/safetensors",
		loaders: []string{"safetensors"},
		fits:    fitsSafetensors, decode: modelDecoder(safetensors.Decode),
		index: safetensors.OpenIndex, shards: safetensors.OpenSharded,
	},

	// Files of a model's folder, recognized by the members of their JSON object.
	{name: "tokenizer", title: "a tokenizer's JSON (tokenizer.json)", advice: beside, opens: AsText, fits: hasMembers("added_tokens", "version|model|truncation|normalizer"), judge: "internal/sidecar"},
	{name: "adapter-config", title: "an adapter's configuration (adapter_config.json)", advice: beside, opens: AsText, fits: hasMembers("peft_type"), judge: "internal/sidecar"},
	{name: "index", title: "an index of shards (model.safetensors.index.json)", advice: "it is opened by its path, beside its shards", opens: AsText, fits: hasMembers("weight_map"), judge: "internal/sidecar"},
	{name: "diffusers-config", title: "a pipeline's or a component's configuration of diffusers (model_index.json, config.json)", advice: beside, opens: AsText, fits: hasMembers("_class_name"), judge: "internal/sidecar"},
	{name: "tokenizer-config", title: "a tokenizer's configuration (tokenizer_config.json)", advice: beside, opens: AsText, fits: hasMembers("tokenizer_class|added_tokens_decoder|chat_template|model_max_length"), judge: "internal/sidecar"},
	{name: "processor-config", title: "a processor's configuration (preprocessor_config.json)", advice: beside, opens: AsText, fits: hasMembers("image_processor_type|feature_extractor_type|video_processor_type|processor_class"), judge: "internal/sidecar"},
	{name: "config", title: "a model's configuration (config.json)", advice: beside, opens: AsText, fits: hasMembers("model_type|architectures"), judge: "internal/sidecar"},
	{name: "quantization-config", title: "a quantization's configuration", advice: beside, opens: AsText, fits: hasMembers("quant_method|quantization|quant_algo|group_size"), judge: "internal/sidecar"},
	{name: "generation-config", title: "settings for generating text (generation_config.json)", advice: beside, opens: AsText, fits: hasMembers("do_sample|eos_token_id|max_new_tokens|_from_model_config"), judge: "internal/sidecar"},
	{name: "special-tokens", title: "a list of special tokens (special_tokens_map.json)", advice: beside, opens: AsText, fits: hasMembers("bos_token|eos_token|unk_token|pad_token|cls_token|mask_token|additional_special_tokens"), judge: "internal/sidecar"},
	{name: "trainer-state", title: "a trainer's state (trainer_state.json)", advice: beside, opens: AsText, fits: hasMembers("log_history|global_step"), judge: "internal/sidecar"},
	{name: "modules", title: "a list of a pipeline's modules (modules.json)", advice: beside, opens: AsText, fits: whole(isModules), judge: "internal/sidecar"},

	// Files that people have in place of a model, packings of models, graphs and pickles.
	{name: "git-lfs", title: "a Git LFS pointer, not the file itself", advice: "run `git lfs pull` in its repository", opens: AsText, fits: startsWithWord("version https://git-lfs.github.com/spec/", "version https://hawser.github.com/spec/"), judge: "internal/sidecar"},
	{name: "html", title: "an HTML page", advice: "the download got a web page instead of the file: check the address and whether it needs a login", opens: AsText, fits: startsWithWord("<!doctype html", "<html", "<head", "<body"), judge: "internal/sidecar"},
	{name: "xml", title: "an XML document", advice: "storage services answer with one when they refuse a download: read it as text", opens: AsText, fits: startsWithWord("<?xml", "<error>"), judge: "internal/sidecar"},
	{name: "json", title: "a JSON text", advice: "a server may have answered with an error: read it as text", opens: AsText, fits: whole(isJSON), judge: "internal/sidecar"},
	{name: "gzip", title: "gzip data", advice: unpack + ": gunzip", opens: AsPacked, fits: magic("\x1f\x8b"), exts: []string{".gz", ".gzip"}, loaders: []string{"gzip", "joblib.load"}, judge: "internal/unpack"},
	{name: "zstd", title: "zstd data", advice: unpack + ": unzstd", opens: AsPacked, fits: magic("\x28\xb5\x2f\xfd"), exts: []string{".zst", ".zstd"}, loaders: []string{"compression.zstd"}, judge: "internal/unpack"},
	{name: "xz", title: "xz data", advice: unpack + ": unxz", opens: AsPacked, fits: magic("\xfd7zXZ\x00"), exts: []string{".xz"}, loaders: []string{"lzma", "joblib.load"}, judge: "internal/unpack"},
	{name: "bzip2", title: "bzip2 data", advice: unpack + ": bunzip2", opens: AsPacked, fits: ofBeginning(polyglot.IsBzip2), exts: []string{".bz2"}, loaders: []string{"bz2", "joblib.load"}, judge: "internal/unpack"},
	{name: "lz4", title: "lz4 data", advice: unpack + ": unlz4", fits: magic("\x04\x22\x4d\x18")},
	{name: "7z", title: "a 7z archive", advice: unpack + ": 7z x", fits: magic("7z\xbc\xaf\x27\x1c")},
	{name: "rar", title: "a RAR archive", advice: unpack + ": unrar x", fits: magic("Rar!\x1a\x07")},
	{name: "tar", title: "a tar archive", advice: unpack + ": tar xf (a checkpoint of PyTorch 0.1 is a tar of pickles: convert it with an old PyTorch)", opens: AsPacked, fits: ofBeginning(polyglot.IsTar), exts: []string{".tar"}, loaders: []string{"tarfile", "torch.load"}, judge: "internal/unpack"},
	{name: "keras", title: "a Keras model", opens: AsPacked, fits: whole(isKeras), exts: []string{".keras"}, of: []string{"zip"}, loaders: []string{"keras"}, judge: "internal/unpack", reads: "Keras archive", decode: decodeKeras},
	{name: "zip", title: "a ZIP archive with neither arrays (.npy) nor a checkpoint (data.pkl)", advice: unpack, opens: AsPacked, fits: looksZip, exts: []string{".zip"}, loaders: []string{"zipfile", "numpy.load"}, judge: "internal/unpack"},
	{name: "hdf5", title: "an HDF5 file", opens: AsGraph, fits: whole(isHDF5), exts: []string{".h5", ".hdf5"}, loaders: []string{"h5py", "keras"}, judge: "parser/hdf5", reads: "HDF5 file", decode: modelDecoder(hdf5.Decode)},
	{name: "tflite", title: "a model of TensorFlow Lite (LiteRT)", opens: AsGraph, fits: magicAt(4, tflite.Magic), exts: []string{".tflite"}, behind: "a ZIP archive from its end", loaders: []string{"ai-edge-litert"}, judge: "parser/tflite", reads: "TensorFlow Lite model", decode: modelDecoder(tflite.Decode)},
	{name: "dcp", title: "a distributed checkpoint of PyTorch", opens: AsGraph, byName: true, fits: never, exts: []string{dcp.Suffix}, loaders: []string{"torch.distributed.checkpoint"}, judge: "parser/dcp", reads: "distributed checkpoint of PyTorch", decode: partOfDCP, index: dcp.Open},
	{name: "deepspeed", title: "a checkpoint of DeepSpeed's ZeRO", opens: AsGraph, byName: true, fits: never, loaders: []string{"deepspeed"}, judge: "parser/deepspeed", reads: "ZeRO checkpoint of DeepSpeed", decode: partOfZeRO, index: openZeRO},
	{name: Bundle, title: "a checkpoint of TensorFlow", opens: AsGraph, fits: whole(isBundleIndex), loaders: []string{"tensorflow"}, judge: "parser/tfbundle", reads: "checkpoint of TensorFlow", decode: partOfBundle, index: openBundle},
	{name: "executorch", title: "a model of ExecuTorch", advice: "export the weights from the program that it was made of", fits: magicAt(4, "ET1")},
	{name: "litert-lm", title: "a model of LiteRT-LM", advice: "ask for the weights as safetensors", fits: magic("LITERTLM")},
	{name: "tensorrt", title: "a TensorRT engine", advice: "it is code for one kind of device: ask for the model that it was built from", fits: magic("ptrt", "ftrt")},
	{name: "arrow", title: "a table of Parquet or Arrow", advice: "it is data, not a model: keep it in another folder", fits: magic("PAR1", "ARROW1\x00\x00")},
	{name: "java", title: "a Java object", advice: "reading it in Java can run code: ask for the weights as safetensors", fits: magic("\xac\xed\x00\x05")},
	{name: "r", title: "an object of R", advice: "reading it in R can run code: ask for the weights as safetensors", fits: magic("X\n\x00\x00\x00", "RDX2\n", "RDX3\n")},
	{name: "catboost", title: "a CatBoost model", advice: "save it as JSON with CatBoost", fits: magic("CBM1")},
	{name: "orbax", title: "an array of Orbax (OCDBT)", advice: "save the weights as safetensors or npz with Flax or Orbax", fits: magic("\x0c\xdb\x3a\x2a", "\x0c\xdb\x20\xde", "\x0c\xdb\x1c\xc0")},
	{name: "flax", title: "a checkpoint of Flax (msgpack)", advice: "save the weights as safetensors with Flax", fits: whole(isFlax)},
	{name: "ggml-llama", title: "a GGML file of llama.cpp from before GGUF", advice: "convert it with convert_llama_ggml_to_gguf.py of llama.cpp", fits: magic("fmgg", "tjgg", "algg")},
	{name: "program", title: "a program", advice: "a llamafile carries its GGUF inside: extract that", fits: magic("\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xfe\xed\xfa\xcf")},
	{name: "pdf", title: "a PDF document", advice: "look for the file itself", opens: AsHarmless, fits: magic("%PDF-"), judge: "internal/polyglot"},
	{name: "sqlite", title: "a SQLite database", advice: "look for the file itself", fits: magic("SQLite format 3\x00")},
	{name: "onnx", title: "an ONNX model, or another protobuf message such as TensorFlow's saved_model.pb or Core ML's model", advice: "save the weights as safetensors or npz with the library that wrote it", opens: AsGraph, byName: true, fits: whole(isONNX), exts: []string{".onnx"}, loaders: []string{"onnx.load", "onnxruntime"}, judge: "parser/onnx", reads: "ONNX model", decode: modelDecoder(onnx.Decode)},
	{name: "pickle", title: "a pickle that is not a PyTorch checkpoint", advice: "loading it in Python runs its code; a scan judges it without running anything", opens: AsPickle, fits: whole(isPickle), exts: []string{".pkl", ".pickle", ".p", ".pck", ".dill"}, loaders: []string{"pickle.load", "joblib.load", "numpy.load", "torch.load"}, judge: "parser/pth"},
	{name: "zeros", title: "nothing but zeros at its beginning", advice: "a preallocated download that did not finish: fetch it again", fits: whole(isZero)},
	{name: "text", title: "a text", advice: "look for the file itself", opens: AsText, fits: whole(isTextual), judge: "internal/sidecar"},

	// Kinds that no error names: packings that a text may look like, archives of libraries with
	// names of their own, and pickles that only their reader recognizes.
	{name: "zlib", title: "zlib data", opens: AsPacked, fits: ofBeginning(polyglot.IsZlib), exts: []string{".z", ".zlib"}, loaders: []string{"zlib", "joblib.load"}, judge: "internal/unpack"},
	{name: "lzma", title: "LZMA data", opens: AsPacked, fits: ofBeginning(lzma.IsAlone), exts: []string{".lzma"}, loaders: []string{"lzma", "joblib.load"}, judge: "internal/unpack"},
	{name: "nemo", title: "a model of NeMo", opens: AsPacked, exts: []string{".nemo"}, of: []string{"tar", "gzip"}, loaders: []string{"nemo"}, judge: "internal/unpack"},
	{name: "mar", title: "an archive of TorchServe", opens: AsPacked, exts: []string{".mar"}, of: []string{"zip"}, loaders: []string{"torchserve"}, judge: "internal/unpack"},
	{name: "skops", title: "a model of skops", opens: AsPacked, exts: []string{".skops"}, of: []string{"zip"}, loaders: []string{"skops.io.load"}, judge: "internal/unpack"},
	{name: "joblib", title: "a pickle of joblib", opens: AsPickle, exts: []string{".joblib"}, loaders: []string{"joblib.load"}, judge: "parser/pth"},

	// Content that no loader takes for a model. Its judge reads all of it.
	{name: "empty", title: "an empty file", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "png", title: "a PNG image", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "jpeg", title: "a JPEG image", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "gif", title: "a GIF image", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "webp", title: "a WebP image", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "bmp", title: "a BMP image", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "tiff", title: "a TIFF image", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "ico", title: "a Windows icon", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "font", title: "a font", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "wav", title: "a WAV sound", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "avi", title: "an AVI film", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "mp4", title: "an MP4 film or sound", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "flac", title: "a FLAC sound", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "ogg", title: "an Ogg sound", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "mp3", title: "an MP3 sound", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "tensorboard", title: "a log of TensorBoard", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "sentencepiece", title: "a SentencePiece vocabulary", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "git", title: "a file of git", opens: AsHarmless, judge: "internal/polyglot"},
	{name: "git-object", title: "an object of git", opens: AsHarmless, judge: "internal/polyglot"},
}
