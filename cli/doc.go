// Package cli is the program amn: a command line for the library, with no features of
// its own.
//
// [Main] runs it. Each command is a struct with its flags and arguments, and a Run method that
// is handed a run. Data goes to standard output, messages for people go to standard error. The
// exit code is the class of the worst file.
//
//	main.go session.go commands.go           from arguments to a run of a command
//	line.go nodes.go values.go args.go       spellings that kong does not accept by itself
//	help.go man.go manual.go completion.go   help, man pages and completion, made from kong's model
//
// The commands are in packages by family: internal/view, verify, scan, serve, write and about.
// None imports another. They share these packages:
//
//	report judging      models one after the other, with what is known of each; a gate's verdict
//	coverage targets    what a signed statement covers; what weights are quantized to
//	flags run           flags that families share; one run, with its streams and counters
//	policies disk       what flags and policies have set; the program's own files
//	fault               errors, their classes, and their printed form
//	term jsonout        text for a terminal, and JSON
package cli
