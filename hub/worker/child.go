package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/blob"
	"github.com/anamnesis-go/anamnesis/hub/source"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/internal/sandbox"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A request is what a child reads from its standard input.
type request struct {
	Policy         json.RawMessage
	Today, Version string
	Tenant         string
	Address        string
	Manifest       []gate.File
	Blobs          string
	Remote         source.Remote // how to reach an address
	Memory         int64         // that judgements of the parent may hold
}

// childMemory is the memory of a child besides the account of its files.
const childMemory = 512 << 20

// Process returns a function that judges in a process of the program, which calls [Child] when
// it is started with args. blobs is the folder of [blob.Store], or "". A child holds no more than
// memory for its files, whatever the policy of a tenant allows.
func Process(program string, args []string, blobs string, remote source.Remote, memory int64) func(context.Context, *gate.Gate, store.Work) ([]byte, error) {
	return func(ctx context.Context, g *gate.Gate, w store.Work) ([]byte, error) {
		policy, err := json.Marshal(g.Policy)
		if err != nil {
			return nil, err
		}
		in, err := json.Marshal(request{policy, g.Today, g.Version, w.Tenant, w.Address, w.Manifest, blobs, remote, memory})
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"}
		var out, says bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &bounded{&out, maxDetail}, &first{&says, 1024}
		if err := cmd.Run(); err != nil {
			if text := strings.TrimSpace(says.String()); text != "" {
				return nil, fmt.Errorf("%w: %s", err, text)
			}
			return nil, err
		}
		return out.Bytes(), nil
	}
}

// first keeps the beginning of what is written.
type first struct {
	w    *bytes.Buffer
	left int
}

func (f *first) Write(p []byte) (int, error) {
	n := min(len(p), f.left)
	f.left -= n
	f.w.Write(p[:n])
	return len(p), nil
}

// Child judges what its parent asks for on in, and answers on out. It locks itself before it
// reads the first byte of a file. Systems that cannot be locked judge all the same, since the
// first attempt does.
func Child(ctx context.Context, in io.Reader, out io.Writer) error {
	var r request
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return errors.New("this is for amn-hub itself")
	}
	policy, err := gate.ParsePolicy(r.Policy)
	if err != nil {
		return err
	}
	g, err := (&gate.Gate{Policy: policy, Today: r.Today, Version: r.Version, Digest: true}).WithDigest()
	if err != nil {
		return err
	}
	filled := policy.Limits.Filled()
	memory := min(filled.MaxTotalBytes, r.Memory)
	if memory <= 0 {
		return errors.New("this is for amn-hub itself, which says how much memory there is")
	}
	if err := sandbox.Limit(2*memory+childMemory, filled.Timeout); err != nil {
		return err
	}
	if !source.IsAddress(r.Address) { // else it has to connect
		read := []string{r.Address, r.Blobs, hubModel(r.Address)}
		if _, err := sandbox.Lock(sandbox.Needs{Read: slices.DeleteFunc(read, func(s string) bool { return s == "" })}); err != nil {
			return err
		}
	}
	all := limits.Policy{MaxTotalBytes: memory, Timeout: limits.NoTimeout}.Budget(ctx)
	defer all.Close()
	b := all.ChildContext(ctx, policy.Limits)
	defer b.Close()
	var files fs.FS
	var p *pinned
	if r.Manifest != nil {
		blobs, err := blob.OpenToRead(r.Blobs)
		if err != nil {
			return err
		}
		list, closer, err := blobs.Folder(r.Tenant, r.Manifest, false)
		if err != nil {
			return err
		}
		defer closer.Close()
		files = list
	} else {
		list, closer, err := source.Sources{Remote: r.Remote}.Open(ctx, b, r.Address)
		if err != nil {
			return err
		}
		defer closer.Close()
		var plain bool
		if p, plain, err = pin(ctx, list, nil); err != nil {
			return err
		}
		defer p.Close()
		if files = list; plain {
			files = &p.folder
		}
	}
	v, err := InProcess(ctx, b, g, files)
	if err != nil {
		return err
	}
	defer v.Close()
	if p != nil {
		if err := p.err(); err != nil {
			return err
		}
	}
	return v.WriteJSON(out)
}

// hubModel returns the model's folder in a cache of the Hugging Face hub, in which snapshots
// link to blobs, or "".
func hubModel(path string) string {
	for at := path; at != "" && at != filepath.Dir(at); at = filepath.Dir(at) {
		if strings.HasPrefix(filepath.Base(at), "models--") {
			return at
		}
	}
	return ""
}

// Program is the path of this program.
func Program() (string, error) { return os.Executable() }
