// Package cli is the program amn: a command line for the library, with no features of
// its own.
//
// [Main] runs it. Each command is one file: a struct with its flags and arguments, and a
// Run method that fills a report, which a renderer prints as text or JSON. Data goes to
// standard output, messages for people go to standard error. The exit code is the class
// of the worst file.
//
//	main.go args.go help.go globals.go        from arguments to a session
//	files.go report.go stdin.go progress.go   from a session to reports
//	inspect.go parse.go limits.go ...         the commands
//	scan_walk.go scan_judge.go ...            which files scan judges, and how
//	write.go remember.go convert.go ...       those that write models
//	render_text.go render_json.go table.go    what they print
//	view.go view_FORMAT.go metadata.go        what one format shows besides
package cli
