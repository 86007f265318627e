package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A Sender delivers queued events to webhooks.
type Sender struct {
	Store store.Hooks
	Out   []Out
	Log   *slog.Logger
	// First is how long the second attempt waits, each further one twice as long and at most an
	// hour; default 5 s. Attempts is how many there are; default 12.
	First    time.Duration
	Attempts int
	// Poll is how often the store is asked; default 500 ms.
	Poll   time.Duration
	Client *http.Client
	Now    func() time.Time
}

// lease is how long a process has for a delivery before another one takes it.
const lease = time.Minute

// Run delivers until ctx ends.
func (s *Sender) Run(ctx context.Context) {
	poll := s.Poll
	if poll == 0 {
		poll = 500 * time.Millisecond
	}
	var all sync.WaitGroup
	for _, o := range s.Out {
		all.Go(func() {
			for ctx.Err() == nil {
				n, err := s.Send(ctx, o)
				if err != nil && ctx.Err() == nil {
					s.log("hooks cannot be told", "hook", o.Name, "error", err)
				}
				if n > 0 && err == nil {
					continue
				}
				select {
				case <-ctx.Done():
				case <-time.After(poll):
				}
			}
		})
	}
	all.Wait()
}

func (s *Sender) log(what string, more ...any) {
	if s.Log != nil {
		s.Log.Error(what, more...)
	}
}

// Send delivers some of the events that are due for one webhook, and returns how many it has tried.
func (s *Sender) Send(ctx context.Context, o Out) (int, error) {
	due, err := s.Store.Due(ctx, o.Name, lease, 4)
	if err != nil {
		return 0, err
	}
	for _, d := range due {
		err := s.tell(ctx, o, d)
		if err == nil {
			if err := s.Store.Delivered(ctx, d); err != nil {
				return len(due), err
			}
			continue
		}
		if ctx.Err() != nil {
			return len(due), ctx.Err()
		}
		first, attempts := s.First, s.Attempts
		if first == 0 {
			first = 5 * time.Second
		}
		if attempts == 0 {
			attempts = 12
		}
		last := d.Attempt >= attempts || errors.Is(err, errGone)
		s.log("a hook was not told", "hook", o.Name, "event", d.Event.ID, "attempt", d.Attempt, "given_up", last, "error", err)
		if err := s.Store.Failed(ctx, d, wire.Text(err.Error(), 512), min(first<<min(d.Attempt-1, 20), time.Hour), last); err != nil {
			return len(due), err
		}
	}
	return len(due), nil
}

// errGone means that a receiver answered that it no longer exists.
var errGone = errors.New("the receiver answers that it is gone")

// Body is the text of a message about an event.
func Body(d store.Delivery) ([]byte, error) {
	return json.Marshal(struct {
		Schema   string `json:"schema"`
		Delivery int64  `json:"delivery"`
		store.Event
	}{"amn.event/1", d.ID, d.Event})
}

func (s *Sender) tell(ctx context.Context, o Out, d store.Delivery) error {
	body, err := Body(d)
	if err != nil {
		return err
	}
	if o.File != "" {
		return appendLine(o.File, body)
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "amn-hub")
	o.Key.Sign(r.Header, strconv.FormatInt(d.ID, 10), now(), body)
	client := http.Client{}
	if s.Client != nil {
		client = *s.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // another place has not been named
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, 64<<10)
	switch {
	case resp.StatusCode == http.StatusGone:
		return errGone
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return fmt.Errorf("the receiver answers %d", resp.StatusCode)
	}
	return nil
}

// appendLine adds a line to a file, which is on the disk afterwards.
func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
