package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// releasePage is the one page that says how to install a release, and that there is none yet.
const releasePage = "docs/release.md"

// strangers are commands and programs that use the package anamnesis of PyPI, which is another
// project's: HDF5 and MPI, since 2022.
var strangers = regexp.MustCompile(`(?m)\b(?:pipx?3?|uv|poetry|conda)\b[^\n]*\b(?:install|add|run|download)\b[^\n]*?\banamnesis(?:\[|==|['"\s]|$)|^\s*(?:>>> )?(?:import|from) anamnesis(?:[.\s,]|$)|\bpython3? -m anamnesis(?:[.\s]|$)|^Name: anamnesis$|^name = "anamnesis"$`)

// registries are commands that install this project from where nothing of it has been published.
var registries = regexp.MustCompile(`\b(?:go (?:install|get)|pipx?3? install|uv add|npm (?:i|install)|brew install|docker pull|podman pull|cargo install|apt(?:-get)? install|dnf install)\b[^\n]*(?:anamnesis|\bamn\b)`)

// A security tool never tells people to install somebody else's package, nor one of its own that
// does not exist, under whose name anybody could publish one.
func TestNoPageInstallsAnotherProjectsPackage(t *testing.T) {
	dir := root(t)
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Skip("no git, which the guides use")
	}
	looked := 0
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		if name == "internal/arch/install_test.go" || strings.HasPrefix(name, "testdata/") || strings.HasPrefix(name, "corpus/") {
			continue
		}
		switch filepath.Ext(name) {
		case ".md", ".py", ".go", ".yml", ".yaml", ".toml", ".txt", ".html", ".json", ".sh", "":
		default:
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			continue // deleted in the working tree
		}
		looked++
		for _, m := range strangers.FindAllString(string(text), -1) {
			t.Errorf("%s: %q is about another project's package: ours is anamnesis-models, imported as anamnesis_models", name, strings.TrimSpace(m))
		}
		// Scripts of a release try these commands against registries in a folder.
		if name == releasePage || name == "CHANGELOG.md" || strings.HasPrefix(name, "release/") || strings.HasPrefix(name, "crosscheck/") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range registries.FindAllString(string(text), -1) {
			if !regexp.MustCompile(`install[^\n]* (?:\./)?(?:python\b|dist/|--no-index)`).MatchString(m) {
				t.Errorf("%s: %q, but nothing has been published: only %s says what a release will have", name, m, releasePage)
			}
		}
	}
	if looked < 1000 {
		t.Errorf("looked at %d files", looked)
	}
	if page := read(t, releasePage); !strings.Contains(page, "No version has been published yet") || !strings.Contains(page, "pip install anamnesis-models==VERSION") {
		t.Errorf("%s does not say that a release is missing", releasePage)
	}
}

// The rule finds what it is about.
func TestCommandsThatInstallAnotherPackageAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"pip install anamnesis":                        true,
		"pip install 'anamnesis[torch]'":               true,
		"python -m pip install --upgrade anamnesis==1": true,
		"uv add anamnesis":                             true,
		"import anamnesis":                             true,
		"    from anamnesis.torch import load_file":    true,
		"python -m anamnesis scan x":                   true,
		"pip install anamnesis-models":                 false,
		"import anamnesis_models":                      false,
		"pip install ./python":                         false,
		"the package anamnesis of PyPI":                false,
	} {
		if got := strangers.MatchString(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		"go install github.com/anamnesis-go/anamnesis/cli/amn@latest": true,
		"pip install anamnesis-models":                                true,
		"brew install amn":                                            true,
		"go build -o amn ./cli/amn":                                   false,
		"go install example.com/other@latest":                         false,
	} {
		if got := registries.MatchString(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
