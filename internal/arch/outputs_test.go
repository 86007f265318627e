package arch

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// Where files are created, renamed or removed besides internal/output, and why. A name that
// ends with .go stands for the file, another one for the folder and what lies below it.
var otherWriters = map[string]string{
	"internal/output":               "the one way",
	"internal/spool":                "files without a name, which nothing outlives",
	"cli/internal/serve/socket.go":  "the service's own sockets",
	"cli/internal/term/tty_unix.go": "the terminal, which is no file",
	"examples":                      "code for other modules, which cannot import an internal package",
	"crosscheck":                    "tools of this tree that compare with other libraries",
	"internal/ledger":               "files of this tree, for tests",
	"fuzz/libfuzzer":                "a tool of this tree: seeds for a fuzzer",
}

// packageWriters are the functions of package os that change what a folder holds or what a
// file is; methodWriters are the methods of os.Root among them.
var (
	methodWriters  = []string{"Create", "WriteFile", "OpenFile", "Rename", "Mkdir", "MkdirAll", "Remove", "RemoveAll", "Link", "Symlink"}
	packageWriters = append([]string{"CreateTemp", "MkdirTemp", "Chmod", "Chown", "Lchown", "Chtimes", "Truncate", "CopyFS", "NewFile"}, methodWriters...)
	systemWriters  = []string{"Open", "Openat", "Openat2", "Creat", "Rename", "Renameat", "Renameat2", "Unlink", "Unlinkat", "Mkdir", "Mkdirat", "Rmdir", "Link", "Linkat", "Symlink", "Symlinkat", "Mknod", "Mkfifo", "Truncate", "Chmod", "Chown"}
)

// readFlags are the words of an open that only reads.
var readFlags = []string{"os", "unix", "syscall", "O_RDONLY", "O_PATH", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "nonblock"}

func onlyReads(call *ast.CallExpr) bool {
	if len(call.Args) < 2 {
		return false
	}
	fine := true
	ast.Inspect(call.Args[1], func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !slices.Contains(readFlags, id.Name) {
			fine = false
		}
		return true
	})
	return fine
}

// writesFiles reports whether a call changes the file system.
func writesFiles(c *checker, _ *source, n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	name := sel.Sel.Name
	if id, ok := sel.X.(*ast.Ident); ok {
		if pkg, ok := c.info.Uses[id].(*types.PkgName); ok {
			switch at := pkg.Imported().Path(); at {
			case "os":
				return slices.Contains(packageWriters, name) && !(name == "OpenFile" && onlyReads(call)) && name != "NewFile"
			case "syscall", "golang.org/x/sys/unix", "golang.org/x/sys/windows":
				return slices.Contains(systemWriters, name) && !(strings.HasPrefix(name, "Open") && onlyReads(call))
			}
			return false
		}
	}
	if !slices.Contains(methodWriters, name) || name == "OpenFile" && onlyReads(call) {
		return false
	}
	obj := c.info.Uses[sel.Sel]
	return obj == nil || obj.Pkg() == nil || !strings.HasPrefix(obj.Pkg().Path(), module) // ours are judged where they are written
}

func TestFilesAreWrittenInOnePlace(t *testing.T) {
	c, used := check(t), map[string]bool{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if n == nil || !writesFiles(c, s, n) {
				return true
			}
			for at := range otherWriters {
				if s.path == at || s.in(at) {
					used[at] = true
					return true
				}
			}
			t.Errorf("%s: files are created, renamed and removed by internal/output alone", place(n))
			return true
		})
	}
	for at := range otherWriters {
		if !used[at] {
			t.Errorf("%s writes nothing: it needs no exception", at)
		}
	}
}

// The rule sees each way to write, and takes no reading for one.
func TestWritesOfFilesAreSeen(t *testing.T) {
	for src, want := range map[string]bool{
		`os.Create("x")`: true, `os.WriteFile("x", nil, 0)`: true, `os.Rename("a", "b")`: true, `os.Remove("x")`: true, `os.MkdirTemp("", "")`: true,
		`os.OpenFile("x", os.O_RDWR|os.O_CREATE, 0)`: true, `os.OpenFile("x", flags, 0)`: true, `os.OpenFile("x", os.O_RDONLY, 0)`: false,
		`root.Create("x")`: true, `root.OpenFile("x", os.O_WRONLY, 0)`: true, `root.OpenFile("x", os.O_RDONLY|nonblock, 0)`: false, `root.Remove("x")`: true,
		`unix.Renameat2(1, "a", 1, "b", 0)`: true, `unix.Open("x", unix.O_PATH|unix.O_CLOEXEC, 0)`: false, `unix.Open("x", unix.O_WRONLY, 0)`: true,
		`os.Open("x")`: false, `os.ReadFile("x")`: false, `root.Open("x")`: false, `ours.Remove()`: false,
	} {
		head := "import (\"os\"; \"golang.org/x/sys/unix\")\ntype own struct{}\nfunc (own) Remove() {}\n"
		if got := finds(t, writesFiles, head+"func f(root *os.Root, ours own, flags int) { _ = unix.O_PATH; "+src+" }"); got != want {
			t.Errorf("%s: %v", src, got)
		}
	}
}
