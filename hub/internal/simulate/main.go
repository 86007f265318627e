// Simulate measures a sweep of a hub that does not exist: amn-hub judges a sample of its repositories
// over HTTP on this machine, once for each number of workers, with a new database each time.
//
//	simulate --program amn-hub --repos 5000000 --every 100 --workers 1,2 --latency 20ms
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/hub/internal/simulated"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

type options struct {
	program, db string
	population  simulated.Population
	workers     []int
	latency     time.Duration
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("simulate", flag.ContinueOnError)
	f.StringVar(&o.program, "program", "amn-hub", "the program that is measured")
	f.StringVar(&o.db, "db", "", "folder for the databases (default: a temporary one)")
	f.IntVar(&o.population.Repos, "repos", 5_000_000, "repositories of the hub")
	f.IntVar(&o.population.Every, "every", 100, "judge one repository of so many")
	f.Uint64Var(&o.population.Seed, "seed", 1, "which hub")
	f.DurationVar(&o.latency, "latency", 20*time.Millisecond, "wait before each answer")
	workers := f.String("workers", "2", "numbers of workers, with commas between them")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for text := range strings.SplitSeq(*workers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return o, fmt.Errorf("--workers %s: numbers of at least 1, such as 1,2", *workers)
		}
		o.workers = append(o.workers, n)
	}
	if o.population.Repos < 1 || o.population.Every < 1 {
		return o, errors.New("--repos and --every are at least 1")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	dir := o.db
	if dir == "" {
		if dir, err = os.MkdirTemp("", "simulate"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	var first *sweep
	for _, n := range o.workers {
		s, err := o.sweep(ctx, filepath.Join(dir, fmt.Sprintf("hub-%d.db", n)), n)
		if err != nil {
			return fmt.Errorf("with %d workers: %w", n, err)
		}
		if first == nil {
			first = s
			s.head(out, &o)
		}
		s.row(out, first)
	}
	first.extrapolate(out, &o)
	return nil
}

// A sweep is what one run of the program did.
type sweep struct {
	workers                int
	took, processor        time.Duration
	pages, listings, reads int64 // requests
	bytes                  int64
	database               int64

	simulated.Verdicts
}

func (o *options) sweep(ctx context.Context, db string, workers int) (*sweep, error) {
	hub := &simulated.Server{Population: o.population, Latency: o.latency}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: hub, ReadHeaderTimeout: time.Minute}
	go server.Serve(l)
	defer server.Close()
	cmd := exec.CommandContext(ctx, o.program, "run", "--json", "--sweep", "--source", "hf://"+simulated.Owner+"/*", "--hub", "http://"+l.Addr().String(), "--allow-private", "--db", db, "--workers", strconv.Itoa(workers))
	cmd.Env = append(os.Environ(), "HF_TOKEN=", "NO_PROXY=127.0.0.1")
	logged := &tail{}
	cmd.Stderr = logged
	text, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &sweep{workers: workers}
	s.Verdicts, err = o.population.Compare(text)
	if err != nil {
		cmd.Cancel() // it writes what nobody reads
	}
	if err := cmp.Or(err, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("%w: %s", err, logged.text)
	}
	s.took, s.processor = time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	s.pages, s.listings, s.reads = hub.Pages.Requests.Load(), hub.Listings.Requests.Load(), hub.Reads.Requests.Load()
	s.bytes = hub.Pages.Bytes.Load() + hub.Listings.Bytes.Load() + hub.Reads.Bytes.Load()
	if info, err := os.Stat(db); err == nil {
		s.database = info.Size()
	}
	if s.Repos != o.population.Count() {
		return nil, fmt.Errorf("%d of %d repositories have a verdict: %s", s.Repos, o.population.Count(), logged.text)
	}
	return s, nil
}

func (s *sweep) head(out io.Writer, o *options) {
	fmt.Fprintf(out, "%d of %d repositories (seed %d, %s before each answer): %d files of %.1f TB; %d accepted, %d refused, %d of them hostile; 0 hostile ones accepted.\n\n", s.Repos, o.population.Repos, o.population.Seed, o.latency, s.Files, float64(s.Bytes)/1e12, s.Accepted, s.Refused, s.Hostile)
	fmt.Fprintf(out, "| workers | elapsed | beside the first | processor | per repository | requests | per repository | received | per repository | database |\n|---|---|---|---|---|---|---|---|---|---|\n")
}

func (s *sweep) row(out io.Writer, first *sweep) {
	n := float64(s.Repos)
	requests := s.pages + s.listings + s.reads
	fmt.Fprintf(out, "| %d | %.1f s | %.2f | %.1f s | %.2f ms | %d | %.2f | %.1f MB | %.1f kB | %.1f MB |\n", s.workers, s.took.Seconds(), first.took.Seconds()/s.took.Seconds(), s.processor.Seconds(), s.processor.Seconds()*1000/n,
		requests, float64(requests)/n, float64(s.bytes)/1e6, float64(s.bytes)/1e3/n, float64(s.database)/1e6)
}

// extrapolate says what the whole hub would take, if each repository costs what one of the sample does.
func (s *sweep) extrapolate(out io.Writer, o *options) {
	times := float64(o.population.Repos) / float64(s.Repos)
	hours := s.took.Hours() * times * float64(s.workers)
	fmt.Fprintf(out, "\nExtrapolated to %d repositories: %.0f hours of processor, %.1f million requests, %.0f GB received, %.1f GB of database; %.0f, %.0f and %.1f hours with 1, 10 and 100 workers that wait for the network as here.\n",
		o.population.Repos, s.processor.Hours()*times, float64(s.pages+s.listings+s.reads)*times/1e6, float64(s.bytes)*times/1e9, float64(s.database)*times/1e9, hours, hours/10, hours/100)
}

// A tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if len(t.text) > 4096 {
		t.text = t.text[len(t.text)-4096:]
	}
	return len(p), nil
}
