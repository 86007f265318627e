package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/hub/internal/pgtest"
	"github.com/anamnesis-go/anamnesis/hub/store"
)

// The test program is its own worker, which is killed.
func TestMain(m *testing.M) {
	if where := os.Getenv("HUB_WORKER"); where != "" {
		if err := workUntilDone(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func workUntilDone(where string) error {
	ctx := context.Background()
	e, err := store.Open(ctx, where, store.Options{Attempts: 50, Backoff: time.Millisecond, Poll: 10 * time.Millisecond, Beat: 100 * time.Millisecond, Wait: 30 * time.Second})
	if err != nil {
		return err
	}
	defer e.Close()
	work := func(ctx context.Context, j store.Job) error {
		time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
		return e.Finish(ctx, j, judged(j.Work))
	}
	if err := e.Start(ctx, 4, work); err != nil {
		return err
	}
	for {
		in, err := e.Admitted(ctx)
		if err == nil {
			_, err = e.Admit(ctx, 16-int(in))
		}
		if err == nil {
			_, _, err = e.Recover(ctx)
		}
		if err == nil {
			if left, err := e.Left(ctx); err == nil && left == 0 {
				return nil
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// kills is how many workers are killed at random on each engine: HUB_KILLS for more.
func kills(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("HUB_KILLS"))
	if err != nil {
		n = 4
	}
	if testing.Short() {
		n = 1
	}
	return n
}

// Workers are killed at any moment; every revision is judged, and none twice.
func TestKilledWorkersLoseAndDoubleNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) { killing(t, p, kills(t), nil) })
}

// So is the database.
func TestKilledDatabasesLoseAndDoubleNothing(t *testing.T) {
	s := pgtest.Start(t)
	killing(t, place{s.Address(), true, s}, max(kills(t)/10, 2), func() {
		s.Stop(9)
		s.Restart()
	})
}

func killing(t *testing.T, p place, n int, also func()) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e, err := store.Open(t.Context(), p.where, fast(t))
	if err != nil {
		t.Fatal(err)
	}
	list := work("a", 150*(n+1))
	_, err = e.Add(t.Context(), list)
	e.Close()
	if err != nil {
		t.Fatal(err)
	}
	begin := func() *exec.Cmd {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "HUB_WORKER="+p.where)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	effective := 0
	for range n {
		cmd := begin()
		time.Sleep(time.Duration(200+rand.IntN(700)) * time.Millisecond)
		if also != nil {
			also()
		}
		cmd.Process.Kill()
		if cmd.Wait() != nil {
			effective++
		}
	}
	if err := begin().Wait(); err != nil {
		t.Fatal(err)
	}
	e = open(t, p, fast(t))
	exactly(t, e, list)
	t.Logf("%d of %d kills hit a worker at work, %s", effective, n, filepath.Base(p.where))
}
