package main

import (
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

var (
	forTime = flag.Duration("time", 10*time.Minute, "how long to search, in time of the processor")
	root    = flag.String("root", ".", "the repository")
	keep    = flag.String("keep", "", "write the dearest inputs into this folder")
	table   = flag.String("table", "", "write the table between the marks of this document")
	seed    = flag.Uint64("seed", 1, "of the random numbers")
	only    = flag.String("only", "", "commands, such as scan,stats")
	dump    = flag.Bool("dump", false, "print every run that takes at least 5 ms")
	gridded = flag.Bool("grid", false, "first try each token of shapes.go under each name")
	just    = flag.Bool("just", false, "measure the files of -begin alone, and change nothing")
	begun   = flag.String("begin", "", "also begin with the files of this folder")
	profile = flag.String("profile", "", "write a profile of the processor's time into this file")
)

// given is the format of inputs that -begin names, whose steps do not count for the median:
// they are what an earlier search found.
const given = "given"

// A best is the dearest input of a command and a format by one measure.
type best struct {
	in    *input
	price price
	score float64
}

// A key says of what an input is the dearest.
type key struct{ command, format, measure string }

const byRate, byStep, byBlind = "rate", "step", "blind"

// measures are all of them.
var measures = []string{byRate, byStep, byBlind}

// A search is a run of the program.
type search struct {
	mutator

	best     map[key]best
	counted  []counted // runs of the seeds that are long enough to say what a step costs
	changing bool      // the seeds are done
	runs     int
	median   float64
	said     time.Time // when it last said how far it is
}

// counted is a run that counts for the median.
type counted struct {
	command *command
	in      *input
}

func main() {
	flag.Parse()
	debug.SetGCPercent(400)
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "cost:", err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// inputs returns what the search begins with.
func inputs() (list []*input, err error) {
	if !*just {
		if list, err = seeds(*root); err != nil {
			return nil, err
		}
	}
	if *begun != "" {
		files, err := os.ReadDir(*begun)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			data, err := os.ReadFile(filepath.Join(*begun, f.Name()))
			if err != nil {
				return nil, err
			}
			format := given
			if *just {
				format = f.Name()
			}
			list = append(list, &input{name: f.Name(), format: format, data: data})
		}
	}
	return list, nil
}

func run() error {
	list, err := inputs()
	if err != nil {
		return err
	}
	s := &search{mutator: mutator{rand.New(rand.NewPCG(*seed, 0)), map[string][]*input{}}, best: map[key]best{}}
	for _, in := range list {
		s.seeds[in.format] = append(s.seeds[in.format], in)
	}
	s.said = time.Now()
	for _, in := range list {
		s.try(in)
	}
	s.changing = true
	if *gridded {
		grid(s.try)
	}
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt)
	for !*just && cpu() < *forTime && len(stopped) == 0 {
		parent := list[s.IntN(len(list))]
		if dear := s.dear(); len(dear) > 0 && s.IntN(2) == 0 {
			parent = dear[s.IntN(len(dear))]
		}
		if len(parent.data) == 0 {
			continue
		}
		if in := s.mutate(parent); in != nil {
			s.try(in)
		}
	}
	return s.report()
}

// say prints how far the search is, once a minute, and keeps what it has.
func (s *search) say() {
	if time.Since(s.said) < time.Minute {
		return
	}
	s.said = time.Now()
	fmt.Fprintf(os.Stderr, "%v: %d runs", cpu().Round(time.Second), s.runs)
	for _, measure := range measures[:2] {
		if list := s.sorted(measure); len(list) > 0 {
			r := &list[0]
			fmt.Fprintf(os.Stderr, "; dearest by %s: %.4g (%s %s %s)", measure, r.score, r.command, r.key.format, r.in.name)
		}
	}
	fmt.Fprintln(os.Stderr)
	if *keep != "" {
		if err := s.write(*keep); err != nil {
			fmt.Fprintln(os.Stderr, "cost:", err)
		}
	}
}

// try runs every command on the input and keeps it where it is the dearest.
func (s *search) try(in *input) {
	s.say()
	for i := range commands {
		c := &commands[i]
		if *only != "" && !slices.Contains(strings.Split(*only, ","), c.name) {
			continue
		}
		p := c.measure(in)
		s.runs++
		if n := p.step(); n > 0 && !s.changing && in.format != given {
			p = c.again(in, p) // the first run may be what fills tables and pools
			if n = p.step(); n > 0 {
				s.counted = append(s.counted, counted{c, in})
			}
			if *dump {
				fmt.Fprintf(os.Stderr, "%.0f\t%.1f\t%s\t%s\t%s\t%.40q\n", n, p.cpu.Seconds()*1000, c.name, in.format, in.name, in.data)
			}
		}
		dearer := func(measure string) bool {
			return score(measure, &p, in) > s.best[key{c.name, in.format, measure}].score
		}
		if !slices.ContainsFunc(measures, dearer) {
			continue
		}
		p = c.again(in, p)
		for _, measure := range measures {
			if dearer(measure) {
				s.best[key{c.name, in.format, measure}] = best{in, p, score(measure, &p, in)}
			}
		}
	}
}

func score(measure string, p *price, in *input) float64 {
	switch measure {
	case byRate:
		return p.rate(in)
	case byStep:
		return p.step()
	}
	return float64(p.blind)
}

// dear lists the inputs that are the dearest of something, in an order that the random
// numbers decide alone.
func (s *search) dear() (list []*input) {
	for _, measure := range measures {
		for _, b := range s.sorted(measure) {
			if b.score > 0 {
				list = append(list, b.in)
			}
		}
	}
	return list
}

type row struct {
	best
	key
}

// sorted lists the dearest by a measure, dearest first.
func (s *search) sorted(measure string) (list []row) {
	for k, b := range s.best {
		if k.measure == measure {
			list = append(list, row{b, k})
		}
	}
	slices.SortFunc(list, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.command, b.command), cmp.Compare(a.key.format, b.key.format))
	})
	return list
}

// report measures the dearest again and writes what was found.
func (s *search) report() error {
	s.median = s.stepOfSeeds()
	for k, b := range s.best {
		for i := range commands {
			if commands[i].name == k.command {
				b.price = commands[i].again(b.in, b.price)
				b.price.blind = commands[i].blind(b.in, &b.price)
				b.score = score(k.measure, &b.price, b.in)
				s.best[k] = b
			}
		}
	}
	text := s.table()
	fmt.Print(text)
	if *keep != "" {
		if err := s.write(*keep); err != nil {
			return err
		}
	}
	if *table != "" {
		return replaceTable(*table, text)
	}
	return nil
}

// stepOfSeeds measures the runs that count once more, close to the dearest: the machine may
// be slower or faster by now. It returns the median price of a step.
func (s *search) stepOfSeeds() float64 {
	var steps []float64
	for _, r := range s.counted {
		p, q := r.command.timed(r.in), r.command.timed(r.in)
		if n := min(p.step(), q.step()); n > 0 {
			steps = append(steps, n)
		}
	}
	if len(steps) == 0 {
		return 0
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}

// write writes the dearest inputs, named by what they are the dearest of.
func (s *search) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, measure := range measures {
		for _, r := range s.sorted(measure) {
			sum := sha256.Sum256(r.in.data)
			name := fmt.Sprintf("%s-%s-%s-%x-%s", r.measure, r.command, r.key.format, sum[:3], filepath.Base(r.in.name))
			if err := os.WriteFile(filepath.Join(dir, name), r.in.data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
