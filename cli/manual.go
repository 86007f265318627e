package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

//go:generate go test -run ^TestDocsAreCurrent$ -update .

// manual returns docs/cli.md: what all commands share, then the help of each.
func manual(root *kong.Node) string {
	var out strings.Builder
	out.WriteString(manualHead)
	out.WriteString("\n## Limits\n\n```text\n" + limitsText(root, helpWidth) + "```\n")
	for _, c := range root.Leaves(true) {
		out.WriteString("\n## " + commandPath(c) + "\n\n```text\n" + helpText(c, helpWidth, false) + "```\n")
	}
	return out.String()
}

const manualHead = "# The program amn\n\n" +
	"This page is written by `go generate ./cli` from the commands themselves; do not edit it.\n" + `
Standard output is for data, standard error for people. Flags may be anywhere on the command line; everything after ` + "`--`" + ` is a path.

| exit | class | meaning |
|---|---|---|
| 0 | ok | accepted |
| 1 | internal | the disk, the network, or a bug: never counts as accepted |
| 2 | usage | wrong flags or arguments |
| 3 | malformed | no file with this beginning could be valid |
| 4 | truncated | some longer file with this beginning could be valid |
| 5 | unsupported | valid, but not read here; the message says what it is and what to do |
| 6 | limit | a ceiling was reached; the message names the flag that raises it |
| 7 | forbidden | refused by a rule: it asks for code, or the policy refuses it |
| 8 | differs | ` + "`amn diff`, `amn verify --against`" + `: two models are not equal |

With several files, each one is reported, and the exit code is the highest class. The exit code is 130 after an interrupt, 143 after SIGTERM and 129 after SIGHUP;
nothing is left behind.

` + "`--json`" + ` prints one object per line for each model, in the order of the arguments, also for refused ones. The schemas are in ` + "`cli/schema`" + `. Within
version 1, fields are added but never changed. Names are complete and exact; text that is not UTF-8 is base64 in the field NAME_base64; integers above
2^53 are strings. Output for people fits the terminal: text is wrapped, and tables are cut. No character of a file can control the terminal.

A folder is one model if it has one index of shards, or else one set of shards, or else one weight file. Otherwise each of its weight files is reported.
Shards and configuration are looked for only in the model's folder. In the cache of the Hugging Face hub, links from a snapshot to its blobs are
followed; any other link out of the folder is refused. Pipes and devices are never opened.
`
