// Package cli is the program amn: commands over the library, and nothing that
// the library does not do.
//
// [Main] is the whole of it. A command is one file with a struct of its flags
// and arguments and a Run method; it fills a report, and a renderer prints it as
// text or JSON. Data goes to standard output, what is meant for people to
// standard error. The exit code is the class of the worst file.
//
//	main.go args.go help.go globals.go        from arguments to a session
//	files.go report.go stdin.go progress.go   from a session to reports
//	inspect.go parse.go limits.go ...         the commands
//	scan_walk.go scan_judge.go ...            which files scan judges, and how
//	write.go remember.go convert.go ...       those that write models
//	render_text.go render_json.go table.go    what they print
//	view.go view_FORMAT.go metadata.go        what one format shows besides
package cli
