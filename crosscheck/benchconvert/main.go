// Command benchconvert measures conversions from file to file, and for comparison a copy of
// the same bytes at the same offsets.
//
// Every contender is a process of its own. Ours and raw are timed from when the
// target is created to the last write, syncs apart; cp and the published Rust
// program, which do not sync, from their start to their end. It prints
// the best of the rounds, which go through all contenders in turn, as many as
// the seconds of a source allow. The sources are random codes under scales
// of a model, in the page cache.
//
//	RUST_AMN  the path of the published Rust program
//	ONLY      measures the sources of which this is a part of the name
//	LAYERS    matrices in a source, 11 for 1 GB of output
//	SECONDS   for each source, 50
//
// Arguments are files that are measured too.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// mode is the environment that makes this program one contender.
const mode = "BENCHCONVERT"

// A run is what one contender took.
type run struct {
	Bytes int64
	Wall  time.Duration
	CPU   time.Duration
	RSS   int64
}

func main() {
	if os.Getenv(mode) != "" {
		r, err := contend(os.Getenv(mode), os.Args[1], os.Args[2])
		if err == nil {
			r.RSS = ownPeak()
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
		quit(err)
		return
	}
	quit(bench(os.Args[1:]))
}

func quit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchconvert:", err)
		os.Exit(1)
	}
}

// number is a number of the environment.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

func bench(more []string) error {
	dir, err := os.MkdirTemp(".", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list := sources
	for _, path := range more {
		list = append(list, source{filepath.Base(path), func(string) (string, error) { return path, nil }})
	}
	fmt.Printf("%s/%s, %d processors, %s. Of raw: the rate over that of raw with as many workers; of the best raw, in brackets.\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Println("| source | contender | wall s | GB/s | CPU s | peak MiB | of raw | Rust takes |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, s := range list {
		if !strings.Contains(s.name, os.Getenv("ONLY")) {
			continue
		}
		path, err := s.make(dir)
		if err != nil {
			return err
		}
		t, err := measure(dir, path)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		t.print(s.name)
		if filepath.Dir(path) == dir {
			os.Remove(path)
		}
	}
	return nil
}

// contenders are those of this machine: a name and a number of workers.
func contenders() (list []string) {
	n := runtime.NumCPU()
	for _, k := range []int{1, n}[:min(n, 2)] {
		list = append(list, fmt.Sprint("raw ", k), fmt.Sprint("shifted ", k), fmt.Sprint("ours ", k))
	}
	list = append(list, "cp")
	if os.Getenv("RUST_AMN") != "" {
		list = append(list, fmt.Sprint("rust ", n))
	}
	return list
}

// measure runs all contenders for one source.
func measure(dir, source string) (table, error) {
	target := filepath.Join(dir, "out.safetensors")
	t := table{}
	began, limit := time.Now(), time.Duration(number("SECONDS", 50))*time.Second
	for round := 0; round < 9 && (round < 2 || time.Since(began)*time.Duration(round+1)/time.Duration(round) < limit); round++ {
		for _, name := range contenders() {
			r, err := one(name, source, target)
			os.Remove(target)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			name = strings.Replace(name, "shifted", "raw", 1) // the better of both counts
			if old, ok := t[name]; !ok || r.Wall < old.Wall {
				t[name] = r
			}
		}
	}
	return t, nil
}

// one runs one contender.
func one(name, source, target string) (r run, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	kind, threads, _ := strings.Cut(name, " ")
	cmd := exec.Command(self, source, target)
	cmd.Env = append(os.Environ(), mode+"="+name)
	switch kind {
	case "cp":
		cmd = exec.Command("cp", source, target)
	case "rust":
		cmd = exec.Command(os.Getenv("RUST_AMN"), "remember", "--force", "--threads", threads, "-o", target, source)
	}
	if kind == "rust" && strings.HasSuffix(source, "bf16.safetensors") {
		cmd.Args[1] = "convert" // it remembers only what is quantized
		cmd.Args = append(cmd.Args, "--to", "safetensors")
	}
	var complaint strings.Builder
	cmd.Stderr = &complaint
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%w: %s", err, complaint.String())
	}
	r.Wall = time.Since(began)
	if info, err := os.Stat(target); err == nil {
		r.Bytes = info.Size()
	}
	if cmd.Env != nil {
		if err := json.Unmarshal(out, &r); err != nil {
			return r, err
		}
	}
	r.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if r.RSS == 0 { // a process inherits the peak of the one that starts it
		r.RSS = peak(cmd.ProcessState)
	}
	return r, nil
}
