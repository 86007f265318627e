package fault

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// OptionFlags maps the options that messages of the library name to the program's flags.
var OptionFlags = map[wire.Option]string{
	wire.OptionScheme:        "--scheme",
	wire.OptionGPTQZeros:     "--gptq-zeros",
	wire.OptionBlock:         "--block-size",
	wire.OptionFoldPreQuant:  "--fold-pre-quant-scale",
	wire.OptionIgnoreUnknown: "--ignore-unknown",
	wire.OptionAs:            "--as",
	wire.OptionTarget:        "--out-dtype (amn dequantize --to)",
	wire.OptionAsIs:          "--as-is",
	wire.OptionKeep:          "--tensor",
	wire.OptionMeta:          "--gguf-kv or --gguf-metadata of amn convert --to gguf",
	wire.OptionRawNames:      "amn convert --to gguf --raw-names",
	wire.OptionTargetModel:   "amn convert --to gguf --target-model",
	wire.OptionInclude:       "--include",
	wire.OptionExclude:       "--exclude",
	wire.OptionForce:         "--force",
	wire.OptionResume:        "--resume",
}

// Text returns the text of an error, with flags instead of the library's options, and
// without the words for the class of wrong usage.
func Text(err error) string {
	text := err.Error()
	if wire.ClassOf(err) == wire.Usage {
		text = strings.Replace(text, wire.ErrUsage.Error()+": ", "", 1)
	}
	if call := atCall(err); call != "" {
		text = strings.ReplaceAll(text, call+" ", calls[call]+" ")
	}
	for _, o := range wire.OptionsOf(err) {
		text = strings.ReplaceAll(text, string(o), OptionFlags[o])
	}
	return text
}

// calls are the calls of [os.Root] as its errors name them, and what they do.
var calls = map[string]string{
	"openat": "open", "statat": "stat", "fstatat": "stat", "lstatat": "lstat", "mkdirat": "mkdir", "unlinkat": "remove", "removeat": "remove", "renameat": "rename",
	"readlinkat": "readlink", "linkat": "link", "symlinkat": "symlink", "chmodat": "chmod", "chownat": "chown", "chtimesat": "chtimes", "RemoveAll": "remove",
}

// atCall returns the name in an error of a call that takes a folder, or "".
func atCall(err error) string {
	op := ""
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		op = e.Op
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		op = e.Op
	}
	if calls[op] == "" {
		return ""
	}
	return op
}
