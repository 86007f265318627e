package flags

import "errors"

// FileArgs are the arguments of a command that reads files.
type FileArgs struct {
	Paths     []string `arg:"" name:"path" help:"Files, folders, ollama:NAME, or - for standard input."`
	Recursive bool     `short:"r" help:"Include subfolders."`
}

// ListedArgs are the arguments of a command that takes --files-from.
type ListedArgs struct {
	Paths     []string `arg:"" optional:"" name:"path" help:"Files, folders, ollama:NAME, or - for standard input."`
	Recursive bool     `short:"r" help:"Include subfolders."`
}

func Positive(n int64, err error) (int64, error) {
	if err == nil && n == 0 {
		err = errors.New("give a number above 0")
	}
	return n, err
}
