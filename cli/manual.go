package cli

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/command"
)

//go:generate go test -run ^TestDocsAreCurrent$ -update .

// manual is docs/cli.md: the help of every command, under what all share.
func manual(root *command.Command) string {
	var out strings.Builder
	out.WriteString(manualHead)
	out.WriteString("\n## Limits\n\n```text\n" + limitsText(root, helpWidth) + "```\n")
	for _, c := range root.Leaves() {
		out.WriteString("\n## " + c.Path() + "\n\n```text\n" + helpText(c, helpWidth) + "```\n")
	}
	return out.String()
}

const manualHead = "# The program amn\n\n" +
	"Written by `go generate ./cli` from the commands themselves; do not edit.\n" + `
Standard output is data, standard error is for people. Flags may stand anywhere; what follows ` + "`--`" + ` is a path.

| exit | class | meaning |
|---|---|---|
| 0 | ok | accepted |
| 1 | internal | the disk, the network, or a bug: never counts as accepted |
| 2 | usage | wrong flags or arguments |
| 3 | malformed | no file with this beginning could be valid |
| 4 | truncated | some longer file with this beginning could be valid |
| 5 | unsupported | legal, but not read here; the message says what it is and what to do |
| 6 | limit | a ceiling was reached; the message names the flag that raises it |
| 7 | forbidden | refused by rule: code, or what the policy refuses |
| 8 | differs | ` + "`amn diff`, `amn verify --against`" + `: two models are not equal |

With several files each is reported, and the highest class is the exit code. An interrupt ends with 130, SIGTERM with 143, SIGHUP with 129;
nothing is left behind.

` + "`--json`" + ` prints one object per model and line, in the order of the arguments, refused ones too. The schemas are in ` + "`cli/schema`" + `. Within
version 1 fields are added, never changed. Names are whole and exact; text that is not UTF-8 stands as base64 in the field NAME_base64; integers past
2^53 are strings. What is printed for people fits the terminal: text is wrapped, tables are cut. No character of a file can act on it.

A folder is one model if it has one index of shards, else one set of shards, else one weight file; otherwise each of its weight files is reported.
Shards and configuration are looked for in the model's folder alone. In the cache of the Hugging Face hub links from a snapshot to its blobs are
followed; any other link out of the folder is refused. Pipes and devices are never opened.
`
