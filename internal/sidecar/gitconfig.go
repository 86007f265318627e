package sidecar

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// pattern compiles an expression when it is asked for: most runs of a program see no file of git.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Kinds of values in a configuration of git, each without anything that git runs.
var (
	gitBool   = pattern(`^(|true|false|yes|no|on|off|0|1)$`)
	gitNumber = pattern(`^[0-9]{1,9}$`)
	gitWord   = pattern(`^[A-Za-z0-9][A-Za-z0-9_+-]*$`)
	gitRemote = pattern(`^(\.|[A-Za-z0-9_][A-Za-z0-9._/+-]*)$`)
	gitRef    = pattern(`^[+^]?refs/[^\x00-\x20\x7f\\]*$`)
	gitFilter = pattern(`^[a-z][a-z0-9:=+.]*$`)
	gitName   = pattern(`^[^\x00-\x1f\x7f]*$`)
	gitTags   = pattern(`^--(no-)?tags$`)
	gitHTTPS  = pattern(`^https://([A-Za-z0-9._~%+:][A-Za-z0-9._~%+:-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[!-~]*)?$`)
	gitURL    = pattern(`^(ssh|git)://([A-Za-z0-9._][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?/[!-~]*$`)
	gitSCP    = pattern(`^[A-Za-z0-9._][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9._~/][!-~]*$`)
	gitAccess = pattern(`^(none|basic|private|negotiate|ntlm)$`)
	gitAlways = pattern(`^(|true|false|always)$`)

	lfsClean   = pattern(`^git-lfs clean -- %f$`)
	lfsSmudge  = pattern(`^git-lfs smudge (-{2}skip )?-- %f$`)
	lfsProcess = pattern(`^git-lfs filter-process( -{2}skip)?$`)
)

// gitKeys are the keys that a clone writes, and which values. A star is any subsection.
var gitKeys = map[string][]func() *regexp.Regexp{
	"core.repositoryformatversion": {gitNumber}, "core.filemode": {gitBool}, "core.bare": {gitBool}, "core.logallrefupdates": {gitAlways},
	"core.ignorecase": {gitBool}, "core.precomposeunicode": {gitBool}, "core.symlinks": {gitBool}, "core.sparsecheckout": {gitBool}, "core.sparsecheckoutcone": {gitBool},
	"extensions.objectformat": {gitWord}, "extensions.compatobjectformat": {gitWord}, "extensions.refstorage": {gitWord}, "extensions.worktreeconfig": {gitBool},
	"extensions.relativeworktrees": {gitBool}, "extensions.preciousobjects": {gitBool}, "extensions.noop": {gitBool}, "extensions.partialclone": {gitRemote},
	"remote.*.url": {gitHTTPS, gitURL, gitSCP}, "remote.*.pushurl": {gitHTTPS, gitURL, gitSCP}, "remote.*.fetch": {gitRef}, "remote.*.promisor": {gitBool},
	"remote.*.partialclonefilter": {gitFilter}, "remote.*.tagopt": {gitTags},
	"branch.*.remote": {gitRemote}, "branch.*.merge": {gitRef}, "branch.*.rebase": {gitWord},
	"user.name": {gitName}, "user.email": {gitName},
	"lfs.repositoryformatversion": {gitNumber}, "lfs.url": {gitHTTPS}, "lfs.*.access": {gitAccess}, "lfs.*.locksverify": {gitBool},
	"submodule.*.url": {gitHTTPS, gitURL, gitSCP}, "submodule.*.active": {gitBool}, "submodule.active": {gitRemote},
	"filter.lfs.clean": {lfsClean}, "filter.lfs.smudge": {lfsSmudge}, "filter.lfs.process": {lfsProcess}, "filter.lfs.required": {gitBool},
}

// gitConfig judges the configuration of a repository: git runs what many keys name, and more
// with each version, so only what a clone writes is let through.
func (r *reader) gitConfig() error {
	return r.gitText("git's configuration", "which no clone writes: git runs what its configuration names, at the first command in this folder", r.gitAllows)
}

// Kinds of values in files of a work tree that git and Git LFS read like a configuration.
var (
	gitPath     = pattern(`^[^-/\\\x00-\x1f\x7f:][^\\\x00-\x1f\x7f:]*$`)
	gitRelative = pattern(`^\.\.?/[A-Za-z0-9_./-]*$`)
	gitBranch   = pattern(`^(\.|[A-Za-z0-9_][A-Za-z0-9._/+-]*)$`)
	gitUpdate   = pattern(`^(checkout|rebase|merge|none)$`)
	gitIgnore   = pattern(`^(all|dirty|untracked|none)$`)
	gitRecurse  = pattern(`^(|true|false|yes|no|on|off|0|1|on-demand)$`)
	lfsPaths    = pattern(`^[^\x00-\x1f\x7f]*$`)
)

// moduleKeys are the keys of .gitmodules, by git's gitmodules(5).
var moduleKeys = map[string][]func() *regexp.Regexp{
	"submodule.*.path": {gitPath}, "submodule.*.url": {gitHTTPS, gitURL, gitSCP, gitRelative}, "submodule.*.branch": {gitBranch}, "submodule.*.update": {gitUpdate},
	"submodule.*.ignore": {gitIgnore}, "submodule.*.shallow": {gitBool}, "submodule.*.fetchrecursesubmodules": {gitRecurse},
}

// lfsKeys are the keys that Git LFS takes from .lfsconfig, by git-lfs-config(5), which says
// that it ignores all others for safety.
var lfsKeys = map[string][]func() *regexp.Regexp{
	"lfs.url": {gitHTTPS, gitURL}, "lfs.pushurl": {gitHTTPS, gitURL}, "remote.*.lfsurl": {gitHTTPS, gitURL}, "lfs.*.access": {gitAccess}, "lfs.*.locksverify": {gitBool},
	"lfs.locksverify": {gitBool}, "lfs.fetchinclude": {lfsPaths}, "lfs.fetchexclude": {lfsPaths}, "lfs.gitprotocol": {gitWord}, "lfs.allowincompletepush": {gitBool},
	"lfs.skipdownloaderrors": {gitBool}, "lfs.concurrenttransfers": {gitNumber}, "lfs.repositoryformatversion": {gitNumber},
}

// gitModules judges the file that names the submodules: older versions of git ran what the key
// update names, and took paths and addresses that begin with a dash for options.
func (r *reader) gitModules() error {
	return r.gitText("the list of submodules", "which git submodule does not write: git has run what this file names", func(key gitKey, g *gitReader) bool {
		if strings.Contains(key.subsection, "..") || strings.HasPrefix(key.subsection, "-") {
			return false
		}
		if key.name == "path" && !staysBelow(g.value) {
			return false
		}
		return allows(moduleKeys, key, g.value)
	})
}

// staysBelow reports whether a path leads to a folder of the work tree that does not belong to git.
func staysBelow(to string) bool {
	return tensor.IsLocal(to) && !slices.ContainsFunc(strings.Split(to, "/"), func(part string) bool {
		return part == ".." || strings.HasPrefix(strings.ToLower(part), ".git")
	})
}

// lfsConfig judges the file by which a repository configures Git LFS.
func (r *reader) lfsConfig() error {
	return r.gitText("the configuration of Git LFS", "which it does not take from a repository: other keys name servers and programs", func(key gitKey, g *gitReader) bool {
		return allows(lfsKeys, key, g.value)
	})
}

// allows reports whether a list has the key with such a value.
func allows(keys map[string][]func() *regexp.Regexp, key gitKey, value string) bool {
	kinds := keys[key.String()]
	if kinds == nil && key.sub {
		kinds = keys[key.section+".*."+key.name]
	}
	if strings.HasSuffix(key.name, "url") && (strings.Contains(value, "::") || strings.Contains(value, "%0") || strings.ContainsAny(value, "\\\"'`$")) {
		return false
	}
	return slices.ContainsFunc(kinds, func(is func() *regexp.Regexp) bool { return is().MatchString(value) })
}

// gitText judges a text in the form of git's configurations, key by key.
func (r *reader) gitText(what, why string, allow func(key gitKey, g *gitReader) bool) error {
	return r.small(func(p []byte) error {
		g := gitReader{text: strings.ReplaceAll(strings.TrimPrefix(string(p), "\ufeff"), "\r\n", "\n")}
		for {
			key, ok := g.next()
			switch {
			case !ok && g.bad == "":
				return nil
			case !ok:
				return r.report(codeHandler, tensor.Danger, "", 0, what+", in which git finds what it runs, is not understood: "+g.bad)
			case allow(key, &g):
				continue
			}
			name := wire.Quote(key.String())
			if err := r.report(codeHandler, tensor.Danger, name, 0, what+" sets "+name+" to "+wire.Quote(g.value)+", "+why); err != nil {
				return err
			}
		}
	})
}

// gitAllows reports whether a clone sets the key to such a value.
func (r *reader) gitAllows(key gitKey, g *gitReader) bool {
	if key.String() == "core.worktree" {
		return r.staysInClone(g.value)
	}
	if key.section == "remote" && !gitRemote().MatchString(key.subsection) {
		return false // the name of a remote without a URL is its URL
	}
	if key.name == "active" && strings.Contains(key.subsection, "..") {
		return false
	}
	return allows(gitKeys, key, g.value)
}

// staysInClone reports whether a submodule's repository, below .git/modules, names a folder of
// the clone for its files.
func (r *reader) staysInClone(to string) bool {
	_, below, _ := r.belowGit()
	if len(below) < 3 || below[0] != "modules" {
		return false
	}
	rest, ups := to, 0
	for strings.HasPrefix(rest, "../") {
		rest, ups = rest[len("../"):], ups+1
	}
	return ups == len(below) && tensor.IsLocal(rest) && !slices.ContainsFunc(strings.FieldsFunc(rest, func(c rune) bool { return c == '/' || c == '\\' }), func(part string) bool {
		return part == ".." || strings.HasPrefix(strings.ToLower(part), ".git")
	})
}

// A gitKey is a key of a configuration; git folds the case of all but the subsection.
type gitKey struct {
	section, subsection, name string
	sub                       bool
}

func (k gitKey) String() string {
	if k.sub {
		return k.section + "." + k.subsection + "." + k.name
	}
	return k.section + "." + k.name
}

// A gitReader reads a configuration of git.
type gitReader struct {
	text  string
	at    gitKey // without a name: the section
	value string
	bad   string // why it is not understood
}

const gitBlank = " \t\n"

// next reads up to the end of the next key's value.
func (g *gitReader) next() (gitKey, bool) {
	for {
		g.text = strings.TrimLeft(g.text, gitBlank)
		switch {
		case g.text == "":
			return gitKey{}, false
		case g.text[0] == '#' || g.text[0] == ';':
			_, g.text, _ = strings.Cut(g.text, "\n")
		case g.text[0] == '[':
			if g.text = g.text[1:]; !g.head() {
				return gitKey{}, false
			}
		default:
			return g.setting()
		}
	}
}

// word reads letters, digits and hyphens.
func (g *gitReader) word() string {
	rest := strings.TrimLeft(g.text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-")
	word := g.text[:len(g.text)-len(rest)]
	g.text = rest
	return strings.ToLower(word)
}

// fail says why the text is not understood.
func (g *gitReader) fail(why string) bool { g.bad = why; return false }

// head reads the head of a section, behind its bracket. No clone writes the old form with a dot,
// and readers differ about it.
func (g *gitReader) head() bool {
	if g.at = (gitKey{section: g.word()}); g.at.section == "" {
		return g.fail("a section without a name")
	}
	if rest, ok := strings.CutPrefix(g.text, "]"); ok {
		g.text = rest
		return true
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(g.text, " \t"), `"`)
	if !ok || len(rest)+1 == len(g.text) {
		return g.fail("the head of a section")
	}
	var name []byte
	for i := 0; i < len(rest) && rest[i] != '\n' && len(name) < maxText; i++ {
		switch c := rest[i]; {
		case c == '"':
			g.at.subsection, g.at.sub = string(name), true
			if g.text, ok = strings.CutPrefix(rest[i+1:], "]"); !ok {
				return g.fail("the head of a section does not end")
			}
			return true
		case c == '\\' && i+1 < len(rest) && rest[i+1] != '\n':
			i++
			name = append(name, rest[i])
		case c == '\\':
			return g.fail("a backslash at the end of a line in the head of a section")
		default:
			name = append(name, c)
		}
	}
	return g.fail("the head of a section does not end")
}

// setting reads a key and its value.
func (g *gitReader) setting() (gitKey, bool) {
	k := g.at
	if c := g.text[0] | 0x20; k.section == "" || c < 'a' || c > 'z' {
		return k, g.fail("a line is not a key of a section")
	}
	k.name = g.word()
	g.text, g.value = strings.TrimLeft(g.text, " \t"), ""
	switch {
	case g.text == "", g.text[0] == '\n':
		return k, true
	case g.text[0] != '=':
		return k, g.fail("the key " + wire.Quote(k.String()) + " has no value")
	}
	return k, g.read(g.text[1:])
}

// gitEscapes are the characters behind a backslash.
var gitEscapes = map[byte]byte{'t': '\t', 'b': '\b', 'n': '\n', '\\': '\\', '"': '"'}

// read reads a value up to the end of its line, which a backslash continues. Blanks at its ends
// count only in quotes, and what follows a mark of a comment outside of them does not count.
func (g *gitReader) read(text string) bool {
	var value []byte
	kept, quoted := 0, false // up to the last character that is no blank at the end
	i := 0
loop:
	for ; i < len(text) && text[i] != '\n'; i++ {
		c := text[i]
		switch {
		case len(value) >= maxText:
			return g.fail("a value is longer than any that a clone writes")
		case !quoted && (c == ' ' || c == '\t'):
			if len(value) > 0 {
				value = append(value, c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			for i < len(text) && text[i] != '\n' {
				i++
			}
			break loop
		case c == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i++
			continue
		case c == '\\':
			i++
			if i == len(text) || gitEscapes[text[i]] == 0 {
				return g.fail("a backslash in a value")
			}
			value = append(value, gitEscapes[text[i]])
		case c == '"':
			quoted = !quoted
		case c == '\r':
			return g.fail("a carriage return in a value")
		default:
			value = append(value, c)
		}
		kept = len(value)
	}
	if quoted {
		return g.fail("a quote that does not end on its line")
	}
	g.value, g.text = string(value[:kept]), text[i:]
	return true
}
