//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stranger makes a checkout that somebody else wrote, beside a home, and enters it. The module
// of its pickle is a command, which a shell runs if it reads an annotation about the file.
func stranger(t *testing.T) (home string) {
	t.Helper()
	base := t.TempDir()
	home = filepath.Join(base, "home")
	checkout := filepath.Join(base, "checkout")
	for _, dir := range []string{home, checkout} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(home, ".bashrc"), "# mine\n")
	write(t, filepath.Join(checkout, "model.pkl"), "c$(touch X)\nsystem\n(S'x'\ntR.")
	copyFile(t, filepath.Join(checkout, "good.safetensors"), filepath.Join(demo, "model.safetensors"))
	t.Chdir(checkout)
	return home
}

// No output follows a link of the folder that is judged, whatever the flags: the file that it
// leads to stays as it is, and a dangling link creates none.
func TestNoOutputFollowsALinkOfTheCheckout(t *testing.T) {
	key := load(t, filepath.Join(workplace(t), "key.pem"))
	home := stranger(t)
	write(t, filepath.Join(home, "key.pem"), key)
	for name, to := range map[string]string{"out": "../home/.bashrc", "dangling": "../home/.profile", "dir": "../home"} {
		if err := os.Symlink(to, name); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Mkdir("sub", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../home", "sub/up"); err != nil {
		t.Fatal(err)
	}
	before := files(t, home)
	for _, name := range []string{"out", "dangling", "dir/new", "sub/up/new", "./sub/../dir/new"} {
		for _, args := range []string{
			"scan --format github --output sarif=" + name + " -- .",
			"scan --output junit=" + name + " good.safetensors",
			"scan -f --output json=" + name + " .",
			"scan -f --bom " + name + " good.safetensors",
			"scan -f --attest " + name + " --key ../home/key.pem good.safetensors",
			"verify -f --output baseline=" + name + " good.safetensors",
			"inspect -f --output markdown=" + name + " good.safetensors",
			"inspect -f --html " + name + " good.safetensors",
			"hash -f -o " + name + " good.safetensors",
			"dequantize --copy -f -o " + name + " good.safetensors",
			"quantize --to nf4 -f -o new.safetensors --report=" + name + ".html good.safetensors",
			"convert --to npz -f -o " + name + " good.safetensors",
			"split -f --max-size 8KB -o " + name + " good.safetensors",
		} {
			if strings.Contains(args, ".html") && !strings.Contains(name, "/") {
				continue // the link has another name
			}
			r := amn(t, nil, strings.Fields(args)...)
			if r.code != 2 || !strings.Contains(r.err, "link") && !strings.Contains(r.err, "is judged") {
				t.Errorf("amn %s: exit %d\n%.300s%s", args, r.code, r.out, r.err)
			}
			if after := files(t, home); after != before {
				t.Fatalf("amn %s: home was\n%sand is\n%s", args, before, after)
			}
		}
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		if out, err := exec.CommandContext(t.Context(), bash, filepath.Join(home, ".bashrc")).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	if _, err := os.Lstat("X"); err == nil {
		t.Error("the name in a pickle was run")
	}
}

// An invalid name of an output is a usage error with an explanation, and nothing is written.
func TestOutputNamesThatAreWrong(t *testing.T) {
	key := filepath.Join(workplace(t), "key.pem")
	stranger(t)
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo("fifo", 0o666); err != nil {
		t.Skip(err)
	}
	for name, why := range map[string]string{
		"folder": "it is a folder", "folder/": "folder", "fifo": "it is not a regular file", "/dev/stdout": "standard output", "-": "standard output",
		".": "folder", "/dev/null": "it is not a regular file", "none/x": "its folder does not exist",
	} {
		for _, args := range [][]string{
			{"scan", "-f", "--output", "sarif=" + name, "good.safetensors"},
			{"scan", "-f", "--bom", name, "good.safetensors"},
			{"scan", "-f", "--attest", name, "--key", key, "good.safetensors"},
			{"inspect", "-f", "--html", name, "good.safetensors"},
			{"hash", "-f", "-o", name, "good.safetensors"},
		} {
			r := amn(t, nil, args...)
			if r.code != 2 || !strings.Contains(r.err, why) {
				t.Errorf("amn %s: exit %d\n%.300s%s", strings.Join(args, " "), r.code, r.out, r.err)
			}
		}
	}
	// A judged file is not replaced by an output of its judgement, whatever its name.
	write(t, "judged/m.safetensors", load(t, "good.safetensors"))
	for _, name := range []string{"judged", "judged/", "./judged", "judged/../judged"} {
		for _, args := range [][]string{
			{"scan", "-f", "--output", "sarif=" + name}, {"scan", "-f", "--bom", name}, {"scan", "-f", "--attest", name, "--key", key}, {"inspect", "-f", "--html", name}, {"hash", "-f", "-o", name},
		} {
			if r := amn(t, nil, append(args, "judged")...); r.code != 2 {
				t.Errorf("amn %s judged: exit %d\n%.300s%s", strings.Join(args, " "), r.code, r.out, r.err)
			}
		}
	}
	if load(t, "judged/m.safetensors") != load(t, "good.safetensors") {
		t.Error("the judged model is another one")
	}
	if err := os.Remove("fifo"); err != nil {
		t.Fatal(err)
	}
	if got := files(t, "."); strings.Contains(got, "partial") || strings.Contains(got, "./- ") {
		t.Error(got)
	}
}

// A file that is edited in place keeps its mode, and a command that fails leaves nothing.
func TestEditingInPlaceKeepsTheMode(t *testing.T) {
	t.Chdir(workplace(t))
	if err := os.Chmod("tiny.gguf", 0o604); err != nil {
		t.Fatal(err)
	}
	if r := amn(t, nil, "edit", "--set", "general.name=mine", "--in-place", "tiny.gguf"); r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	if info, err := os.Stat("tiny.gguf"); err != nil || info.Mode() != 0o604 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// The default output is next to the input that the system finds, and an output whose path has ..
// after a link is a usage error of every command that writes.
func TestOutputsAndInputsMeanTheSamePath(t *testing.T) {
	model, base := load(t, filepath.Join(demo, "model.safetensors")), t.TempDir()
	for _, name := range []string{"far/deep/x", "far/m.safetensors", "near/m.safetensors"} {
		write(t, filepath.Join(base, name), model)
	}
	t.Chdir(filepath.Join(base, "near"))
	if err := os.Symlink("../far/deep", "fl"); err != nil {
		t.Skip(err)
	}
	before := files(t, filepath.Join(base, "far"))
	for _, args := range []string{
		"convert --to npz m.safetensors -o fl/../x", "quantize --to mxfp4 m.safetensors -o fl/../x", "split --max-size 1KB m.safetensors -o fl/../x", "hash m.safetensors -o fl/../x",
		"scan --output json=fl/../x m.safetensors", "scan --bom fl/../x m.safetensors", "inspect --html fl/../x m.safetensors", "convert --to npz m.safetensors -o fl/..",
	} {
		for _, more := range [][]string{nil, {"-f"}} {
			args := append(strings.Fields(args), more...)
			if r := amn(t, nil, args...); args[0] == "hash" && more != nil && r.code == 2 {
				continue
			} else if r.code != 2 || !strings.Contains(r.err, "without ..") {
				t.Errorf("%s: exit %d: %s", args, r.code, r.err)
			}
		}
	}
	if list, err := os.ReadDir("."); err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
	if after := files(t, filepath.Join(base, "far")); after != before {
		t.Errorf("it was\n%sand is\n%s", before, after)
	}
	if r := amn(t, nil, "convert", "--to", "npz", "fl/../m.safetensors"); r.code != 0 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if _, err := os.Stat(filepath.Join(base, "far/m-npz.npz")); err != nil {
		t.Error(err)
	}
}
