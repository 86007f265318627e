package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate"
)

// inForce is what a service reads again: its policy, tokens and certificate.
type inForce struct {
	policy gate.Policy
	tokens []string
	cert   *tls.Certificate
}

// files are the files that hold what is in force.
func (c *Serve) files(s *run.Run) (list []string) {
	if isPolicyFile(s.Policy.Flags.Limits) {
		list = append(list, s.Policy.Flags.Limits)
	}
	for _, name := range []string{c.Tokens, c.TLSCert, c.TLSKey} {
		if name != "" {
			list = append(list, name)
		}
	}
	return list
}

// isPolicyFile reports whether --limits names a file.
func isPolicyFile(arg string) bool {
	_, profile := gate.Profile(arg)
	return arg != "" && !profile
}

// A reader returns what one of the files holds.
type reader func(name string) ([]byte, error)

// load reads all of it, or nothing.
func (c *Serve) load(s *run.Run, read reader) (*inForce, error) {
	in := &inForce{policy: s.Policy.Gate}
	in.policy.Limits = s.Policy.Limits
	if name := s.Policy.Flags.Limits; isPolicyFile(name) {
		text, err := read(name)
		if err == nil {
			in.policy, err = gate.ReadPolicy(bytes.NewReader(text))
		}
		if err == nil {
			err = s.Policy.Flags.Ceilings.Apply(&in.policy.Limits)
		}
		if err != nil {
			return nil, fault.Usage("--limits " + name + ": " + err.Error())
		}
	}
	if c.Tokens != "" {
		text, err := read(c.Tokens)
		if err != nil {
			return nil, err
		}
		if in.tokens, err = readTokens(string(text)); err != nil {
			return nil, fault.Usage("--tokens " + c.Tokens + ": " + err.Error())
		}
	}
	if c.TLSCert != "" || c.TLSKey != "" {
		cert, err := read(c.TLSCert)
		key, err2 := read(c.TLSKey)
		pair := tls.Certificate{}
		if err = errors.Join(err, err2); err == nil {
			pair, err = tls.X509KeyPair(cert, key)
		}
		if err != nil {
			return nil, fault.Usage("--tls-cert, --tls-key: " + err.Error())
		}
		in.cert = &pair
	}
	return in, nil
}

// minToken is the length of the shortest token: 16 hexadecimal digits are 64 bits, which cannot be
// guessed over a network.
const minToken = 16

// readTokens reads one token a line. An ambiguous line is an error, because every accepted line is
// a credential. No error repeats the text of a line.
func readTokens(text string) (list []string, err error) {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimSuffix(line, "\r")
		comment := strings.HasPrefix(line, "#")
		other := strings.IndexFunc(line, func(c rune) bool { return (c < ' ' || c == 0x7f) && c != '\t' })
		switch {
		case strings.HasPrefix(line, "\ufeff"):
			return nil, fmt.Errorf("line %d begins with a byte order mark: save the file as ASCII", n)
		case other >= 0:
			return nil, fmt.Errorf("line %d has a control character", n)
		case comment || strings.Trim(line, " \t") == "":
			continue
		case strings.ContainsAny(line, " \t"):
			return nil, fmt.Errorf("line %d has white space: write one token per line, and begin a comment with #", n)
		case strings.IndexFunc(line, func(c rune) bool { return c > '~' }) >= 0:
			return nil, fmt.Errorf("line %d has a character that is not ASCII", n)
		case len(line) < minToken:
			return nil, fmt.Errorf("line %d has a token of %s: fewer than %d can be guessed (openssl rand -hex 16 prints a good one)", n, term.Plural(int64(len(line)), "character"), minToken)
		}
		list = append(list, line)
	}
	if len(list) == 0 {
		return nil, errors.New("the file has no token")
	}
	return list, nil
}

// hangups reloads whenever a signal asks for it. It has a goroutine of its own, so that a file that
// is slow to read does not delay other signals.
func (v *server) hangups(ctx context.Context, signals *run.Signals) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals.Hangups:
			_ = v.reload() // it has logged why
		}
	}
}

// reload applies the files as they are now. If anything is wrong with one of them, everything
// stays as it is.
func (v *server) reload() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var in *inForce
	read, err := v.again()
	if err == nil {
		in, err = v.cmd.load(v.s, read)
	}
	g := v.gate
	if err == nil {
		g.Policy = in.policy
		err = v.api.Reload(g, in.tokens)
	}
	if err != nil {
		v.log.Error("not reloaded: the old policy, tokens and certificate stay", "error", term.Tidy(err.Error(), 1024))
		return err
	}
	v.cert.Store(in.cert)
	digest, _ := in.policy.Digest() // the gate has computed it
	attrs := []any{"policy", digest, "tokens", len(in.tokens)}
	if in.cert != nil && in.cert.Leaf != nil {
		attrs = append(attrs, "certificate_until", in.cert.Leaf.NotAfter.UTC().Format("2006-01-02"))
	}
	v.log.Info("reloaded", attrs...)
	return nil
}

// readLater makes the process able to read its files again once it is locked.
func (v *server) readLater() error {
	list := v.cmd.files(v.s)
	if !v.s.OwnProcess || v.cmd.Sandbox == "off" || len(list) == 0 {
		return nil
	}
	r, err := newReread(list, v.cmd.Sandbox)
	if err != nil {
		return err
	}
	v.again = r.all
	v.last = append(v.last, r.close)
	return nil
}
