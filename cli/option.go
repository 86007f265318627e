package cli

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// optionFlags are the flags by which the program sets what a message of the
// library names.
var optionFlags = map[wire.Option]string{
	wire.OptionScheme:        "--scheme",
	wire.OptionGPTQZeros:     "--gptq-zeros",
	wire.OptionBlock:         "--block-size",
	wire.OptionFoldPreQuant:  "--fold-pre-quant-scale",
	wire.OptionIgnoreUnknown: "--ignore-unknown",
	wire.OptionAs:            "--as",
	wire.OptionTarget:        "--out-dtype",
	wire.OptionAsIs:          "--as-is",
	wire.OptionKeep:          "--tensor",
	wire.OptionMeta:          "--gguf-kv or --gguf-metadata",
	wire.OptionRawNames:      "--raw-names",
	wire.OptionInclude:       "--include",
	wire.OptionExclude:       "--exclude",
	wire.OptionForce:         "--force",
}

// flagged is an error's text with flags where the library names its options, and without the
// words for a wrong call: what follows them says what is wrong.
func flagged(err error) string {
	text := err.Error()
	if wire.ClassOf(err) == wire.Usage {
		text = strings.Replace(text, wire.ErrUsage.Error()+": ", "", 1)
	}
	for _, o := range wire.OptionsOf(err) {
		text = strings.ReplaceAll(text, string(o), optionFlags[o])
	}
	return text
}
