package cli

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// optionFlags maps the options that messages of the library name to the program's flags.
var optionFlags = map[wire.Option]string{
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
	wire.OptionInclude:       "--include",
	wire.OptionExclude:       "--exclude",
	wire.OptionForce:         "--force",
}

// errorText returns the text of an error, with flags instead of the library's options, and
// without the words for the class of wrong usage.
func errorText(err error) string {
	text := err.Error()
	if wire.ClassOf(err) == wire.Usage {
		text = strings.Replace(text, wire.ErrUsage.Error()+": ", "", 1)
	}
	for _, o := range wire.OptionsOf(err) {
		text = strings.ReplaceAll(text, string(o), optionFlags[o])
	}
	return text
}
