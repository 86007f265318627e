package sidecar_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// lfsHook is a hook of Git LFS 3.3.
func lfsHook(name string) string {
	return strings.ReplaceAll("#!/bin/sh\ncommand -v git-lfs >/dev/null 2>&1 || { echo >&2 \"\\nThis repository is configured for Git LFS but 'git-lfs' was not found on your path. If you no longer wish to use Git LFS, "+
		"remove this hook by deleting '.git/hooks/*'.\\n\"; exit 2; }\ngit lfs * \"$@\"\n", "*", name)
}

// Only files that a clone writes are accepted in the places that git reads.
func TestWhatGitReads(t *testing.T) {
	const core, refused = "[core]\n", "sidecar.handler"
	for _, c := range []struct{ name, text, want string }{
		{".git/config", "\ufeff[CORE] Bare = false ; x\r\n\tfileMode\n\tignorecase = \"tr\\\nue\" # y\n", ""},
		{".git/config", "[core]\n\tfilemode = true\n\t\\\n", refused},
		{".git/config", "[core] fsmonitor = id", refused},
		{".git/config", "[core]\n\tFSMonitor\\\n = id\n", refused},
		{".git/config", "# \\\n[core] # x\nsshcommand=id\n", refused},
		{".git/config", "[core \"x\"]\n\tbare = true\n", refused},
		{".git/config", "[core.x]\n\tbare = true\n", refused},
		{".git/config", "[core\n", refused},
		{".git/config", "[core \"x\n\"]\n", refused},
		{".git/config", "[core \"x\\\n\"]\n", refused},
		{".git/config", "[core \"x\" ]\n", refused},
		{".git/config", "[]\n", refused},
		{".git/config", "GIF89a\n[core]\n", refused},
		{".git/config", core + "\tbare false\n", refused},
		{".git/config", core + "\tbare = \"true\n", refused},
		{".git/config", core + "\tbare = \\x\n", refused},
		{".git/config", core + "\tbare = a\rb\n", refused},
		{".git/config", core + "\tworktree = ../x\n", refused},
		{".git/config", "[user]\n\tname = \"A \\\"B\\\" C\"\n\temail = a@example.org\n", ""},
		{".git/config", "[user]\n\tname = " + strings.Repeat("a", 600) + "\n", refused},
		{".git/config", "[include]\n\tpath = x\n", refused},
		{".git/config", "[alias]\n\tst = !id\n", refused},
		{".gitmodules", "[submodule \"a b\"]\n\tpath = lib/a b\n\turl = https://example.org/a.git\n\tbranch = main\n\tupdate = rebase\n\tignore = dirty\n\tshallow = true\n\tfetchRecurseSubmodules = on-demand\n", ""},
		{".gitmodules", "[submodule \"a\"]\n\tpath = a\n\turl = ../a.git\n[submodule \"b\"]\n\tpath = b\n\turl = git@example.org:b/c.git\n\tbranch = .\n", ""},
		{".gitmodules", "", ""},
		{".gitmodules", "[submodule \"a\"]\n\tupdate = !id\n", refused},
		{".gitmodules", "[submodule \"a\"]\n\tUPDATE = \\\n!id\n", refused},
		{".gitmodules", "[submodule \"a\"]\n\tpath = -a\n", refused},
		{".gitmodules", "[submodule \"a\"]\n\tpath = a/../../b\n", refused},
		{".gitmodules", "[submodule \"a\"]\n\tpath = a/.GIT/hooks\n", refused},
		{".gitmodules", "[submodule \"a\"]\n\tpath = /etc\n", refused},
		{".gitmodules", "[submodule \"../../hooks\"]\n\tpath = a\n", refused},
		{".gitmodules", "[submodule \"a\"]\n\turl = -u./x\n", refused},
		{".gitmodules", "[submodule \"a\"]\n\turl = ext::id\n", refused},
		{".gitmodules", "[submodule \"a\"]\n\turl = https://example.org/%0ahost\n", refused},
		{".gitmodules", "[submodule \"a\"]\n\tbranch = -x\n", refused},
		{".gitmodules", "[core]\n\tfsmonitor = id\n", refused},
		{"sub/.gitmodules", "[submodule \"a\"]\n\tupdate = !id\n", refused},
		{".lfsconfig", "[lfs]\n\turl = https://example.org/lfs\n\tfetchexclude = *.bin, a b\n[lfs \"https://example.org/lfs\"]\n\taccess = basic\n\tlocksverify = true\n[remote \"origin\"]\n\tlfsurl = https://example.org/lfs\n", ""},
		{".lfsconfig", "[lfs \"customtransfer.x\"]\n\tpath = id\n", refused},
		{".lfsconfig", "[lfs]\n\turl = file:///x\n", refused},
		{".lfsconfig", "[lfs]\n\turl = ssh://-oProxyCommand=id/x\n", refused},
		{".lfsconfig", "[lfs]\n\tstandalonetransferagent = x\n", refused},
		{".lfsconfig", "[core]\n\tsshCommand = id\n", refused},
		{".git/config", "[trailer \"a\"]\n\tcmd = id\n", refused},
		{".git/config", "[credential]\n\thelper = store\n", refused},
		{".git/config", "[remote \"origin\"]\n\turl = https://user:key@example.org/a/command-helper\n\tpushurl = ssh://git@example.org:22/a\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\ttagopt = --no-tags\n", ""},
		{".git/config", "[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\tpromisor = true\n\tpartialclonefilter = blob:none\n", ""},
		{".git/config", "[remote \"origin\"]\n\turl = ext::sh -c id\n", refused},
		{".git/config", "[remote \"origin\"]\n\turl = https::x\n", refused},
		{".git/config", "[remote \"origin\"]\n\turl = -x\n", refused},
		{".git/config", "[remote \"origin\"]\n\turl = ssh://-oProxyCommand=id/x\n", refused},
		{".git/config", "[remote \"origin\"]\n\turl = ssh://%2doProxyCommand=id/x\n", refused},
		{".git/config", "[remote \"origin\"]\n\turl = a@-oProxyCommand=id:x\n", refused},
		{".git/config", "[remote \"origin\"]\n\turl = https://example.org/%0ahost=x\n", refused},
		{".git/config", "[remote \"origin\"]\n\turl = ../x\n", refused},
		{".git/config", "[remote \"origin\"]\n\tuploadpack = id\n", refused},
		{".git/config", "[remote \"ext::id\"]\n\tfetch = refs/heads/a\n", refused},
		{".git/config", "[branch \"a\"]\n\tremote = .\n\tmerge = \"refs/heads/a#1\"\n\trebase = true\n", ""},
		{".git/config", "[branch \"main\"]\n\tremote = ext::id\n", refused},
		{".git/config", "[lfs]\n\trepositoryformatversion = 0\n[lfs \"https://example.org/x.git/info/lfs\"]\n\taccess = basic\n\tlocksverify = false\n", ""},
		{".git/config", "[lfs \"customtransfer.x\"]\n\tpath = id\n", refused},
		{".git/config", "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge --skip -- %f\n\tprocess = git-lfs filter-process --skip\n\trequired = true\n", ""},
		{".git/config", "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f; id\n", ""}, // a comment
		{".git/config", "[filter \"lfs\"]\n\tclean = \"git-lfs clean -- %f; id\"\n", refused},
		{".git/config", "[filter \"LFS\"]\n\tclean = git-lfs clean -- %f\n", refused},
		{".git/config", "[submodule]\n\tactive = .\n[submodule \"a\"]\n\turl = https://example.org/a\n\tactive = true\n", ""},
		{".git/config", "[submodule \"../a\"]\n\tactive = true\n", refused},
		{"x/.git/worktrees/a/config.worktree", core + "\tpager = id\n", refused},
		{".git/modules/a/config", core + "\tworktree = ../../../a\n", ""},
		{".git/modules/a/config", core + "\tworktree = ../../../.git/x\n", refused},
		{".git/modules/a/config", core + "\tworktree = ../../../../a\n", refused},
		{".git/modules/a/modules/b/config", core + "\tpager = id\n", refused},
		{"m.zip!.git/config", core + "\tpager = id\n", refused},
		{".git/refs/heads/hooks/fix", "4d7a\n", ""},
		{".git/logs/refs/heads/hooks/fix", "4d7a\n", ""},
		{".git/hooks/pre-push", lfsHook("pre-push"), ""},
		{".git/hooks/pre-push", lfsHook("post-merge"), refused},
		{".git/hooks/pre-push", lfsHook("*"), refused},
		{".git/hooks/pre-push", lfsHook("pre-push") + "id\n", refused},
		{".git/hooks/pre-commit", lfsHook("pre-commit"), refused},
		{".git/hooks/pre-commit.sample", "id\n", ""},
		{".git/modules/a/hooks/update", "id\n", refused},
		{"bare/hooks/post-checkout", "id\n", refused},
		{"src/hooks/react.txt", "id\n", ""},
		{"a/.git", "gitdir: ../.git/modules/a\n", ""},
		{"a/.git", "gitdir: /home/x/model/.git/worktrees/a\n", ""},
		{"a/.git", "gitdir: C:/model/.git/worktrees/a\n", ""},
		{"a/.git", "gitdir: b\n", refused},
		{"a/.git", "gitdir: .git/modules/a\n", refused},
		{"a/.git", "gitdir: ../.git/modules/../../b\n", refused},
		{"a/.git", "gitdir: ../.git/modules\n", refused},
		{"a/.git", "gitdir: ../.git/modules/\n", refused},
		{"a/.git", "gitdir: \n", refused},
		{"a/.git", "../.git/modules/a\n", refused},
		{".git/worktrees/a/commondir", "../..\n", ""},
		{".git/worktrees/a/commondir", "../../../b\n", refused},
		{".git/commondir", "../..\n", refused},
	} {
		if got := check(t, limits.Policy{}, c.name, c.text); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}
