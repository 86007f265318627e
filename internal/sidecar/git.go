package sidecar

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// gitHooks are the names of programs that git runs from a folder called hooks.
var gitHooks = setOf("applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout " +
	"post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate " +
	"fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change")

// lfsHooks are the hooks that Git LFS puts into a clone, and the SHA-256 digests of its texts
// from version 2.3 to 3.7, with an asterisk for the hook's name.
var (
	lfsHooks = setOf("post-checkout post-commit post-merge pre-push")
	lfsTexts = setOf("327f4a12a97dcb162c6746da36b3d4e9c56fc9fca05940f3050999becfb25e20 a6f9eeb5cb7feb70d14e26d8c2e7de0afa4bb49dff98aa02ea9c6e9193124a47 " +
		"00609fc815189c50042127c47bb1ae089c0517a78989679304adddbef3d1203a a6f85952d25afd645af985092bb626a10dca51e0a607a6eb3554871726166f6d")
)

// belowGit reports whether the text's path leads through a .git, and returns the parts behind
// the last one, as some system opens them. A branch may be called like a file that git reads: names is
// true in the folders whose files are called by branches.
func (r *reader) belowGit() (is bool, below []string, names bool) {
	parts := partsOf(r.t.Name)
	for i := len(parts) - 2; i >= 0; i-- {
		if parts[i] == ".git" {
			below = parts[i+1:]
			return true, below, slices.Contains(below[:len(below)-1], "refs")
		}
	}
	return false, nil, false
}

// ForGit reports whether git reads or runs the file because of its place, whatever it contains:
// what begins like a picture can be a configuration, and a script.
func (t Text) ForGit() bool {
	return (&reader{t: t, file: baseOf(t.Name)}).byGit() != nil // asked of every file: no schema is looked for
}

// byGit returns the judge of a text that git reads or runs because of its place, or nil. A
// repository without files has the same texts in a folder of any name, beside the file HEAD
// or the folders refs and objects.
func (r *reader) byGit() func() error {
	base, parent := r.file, r.inFolder(1)
	inside, _, names := r.belowGit()
	bare := func() bool {
		return r.t.Beside == nil || slices.ContainsFunc([]string{"HEAD", "head", "refs", "objects", "commondir"}, r.t.Beside)
	}
	switch {
	case base == ".git":
		return r.gitFile
	case base == ".gitconfig", (base == "config" || base == "config.worktree") && (inside && !names || bare()):
		return r.gitConfig
	case base == ".gitmodules":
		return r.gitModules
	case base == ".lfsconfig":
		return r.lfsConfig
	case base == "commondir" && (inside && !names || bare()):
		return r.commonDir
	case parent == "hooks" && path.Ext(base) != ".sample" && (inside && !names || gitHooks()[strings.TrimSuffix(base, ".exe")]):
		return r.gitHook
	}
	return nil
}

// gitHook judges a program that git runs.
func (r *reader) gitHook() error {
	base := r.file
	if !lfsHooks()[base] {
		return r.report(codeHandler, tensor.Danger, "", 0, "git runs this file")
	}
	return r.small(func(p []byte) error {
		sum := sha256.Sum256([]byte(strings.ReplaceAll(string(p), base, "*")))
		if strings.Contains(string(p), "*") || !lfsTexts()[hex.EncodeToString(sum[:])] {
			return r.report(codeHandler, tensor.Danger, "", 0, "git runs this file, and it is none that Git LFS wrote")
		}
		return nil
	})
}

// gitFile judges a file that names the repository of its folder: that of a submodule or of a
// work tree lies below the .git of a folder above, or elsewhere.
func (r *reader) gitFile() error {
	return r.named(isGitDir, "git takes the configuration and the programs of a repository from a place that no submodule and no work tree has: ")
}

// isGitDir reports whether a text names a repository below .git/modules or .git/worktrees.
func isGitDir(text string) bool {
	to, ok := strings.CutPrefix(text, "gitdir: ")
	if !ok || strings.ContainsAny(to, "\\\r\n") || len(to) >= maxText {
		return false
	}
	drive := len(to) > 2 && to[1] == ':' && to[2] == '/' // of Windows
	if !drive && to[0] != '/' && !strings.HasPrefix(to, "../") {
		return false
	}
	for strings.HasPrefix(to, "../") {
		to = to[len("../"):]
	}
	parts := strings.Split(to, "/")
	at := slices.Index(parts, ".git")
	return at >= 0 && at+2 < len(parts) && (parts[at+1] == "modules" || parts[at+1] == "worktrees") && parts[at+2] != "" && !slices.Contains(parts, "..") && !slices.Contains(parts, ".")
}

// commonDir judges the file by which the repository of a work tree names that of the clone.
func (r *reader) commonDir() error {
	return r.small(func(p []byte) error {
		if text := strings.TrimRight(string(p), "\r\n"); text != "../.." || r.inFolder(2) != "worktrees" {
			return r.report(codeHandler, tensor.Danger, "", 0, "git takes the configuration and the programs of a work tree from a place that no clone has: "+wire.Quote(text))
		}
		return nil
	})
}
