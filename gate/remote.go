package gate

import (
	"encoding/json"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Remote makes a verdict from the JSON of another process that judged a file for this gate.
// The hint has the name, the promise, and the digest of the file, which the caller has
// computed: the other process is believed only about these bytes under this policy. Any
// other answer is an error of class Internal. The verdict has no pickles; their globals
// appear only in the texts of refusals.
func (g *Gate) Remote(text []byte, size int64, h Hint) (*Verdict, error) {
	if g == nil {
		return nil, errNoGate
	}
	if !isDigest(h.SHA256) {
		return nil, errOther
	}
	return g.remote(text, size, h, nil)
}

// RemoteFolder is [Gate.Remote] for a folder of files, whose digests the caller has computed.
func (g *Gate) RemoteFolder(text []byte, files []File, h Hint) (*Verdict, error) {
	if g == nil {
		return nil, errNoGate
	}
	if h.SHA256 = DirHash(files); h.SHA256 == "" {
		return nil, errOther
	}
	size := int64(0)
	for _, f := range files {
		size = wire.AddCap(size, f.Size)
	}
	return g.remote(text, size, h, inOrder(files))
}

var errOther = wire.ErrInternal.Errorf("the verdict is about another file")

// remote reads a verdict about a file, or about the folder of these files, whose digest is
// that of the hint.
func (g *Gate) remote(text []byte, size int64, h Hint, files []File) (*Verdict, error) {
	var in jsonVerdict
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, wire.ErrInternal.Errorf("no verdict: %s", wire.Text(err.Error(), 256))
	}
	class := wire.OK
	for class < wire.Differs && class.String() != in.Class {
		class++
	}
	ok := class == wire.OK
	if in.Schema != Schema || class == wire.Differs || in.Accepted != ok || in.Accepted != (len(in.Refusals) == 0) || in.Excluded {
		return nil, wire.ErrInternal.Errorf("this program cannot have made this verdict")
	}
	policy, err := g.policyDigest()
	if err != nil {
		return nil, err
	}
	sum, other := in.SHA256, in.DirHash
	if files != nil {
		sum, other = other, sum
	}
	if in.names() != h.Name || in.Promised != wire.Clean(h.Promised, 64) || sum != h.SHA256 && (ok || sum != "") || other != "" || (files == nil) != (in.Format != FolderFormat) {
		return nil, errOther
	}
	if in.Size != size && (ok || files == nil) { // a refusal may come before all files were looked at
		return nil, errOther
	}
	if in.Policy != policy || in.RulesDigest != RulesDigest(g.Version) || in.Version != g.Version {
		return nil, wire.ErrInternal.Errorf("the verdict is by another policy, or by other rules")
	}
	d := g.draft(h.Name)
	d.asked = asked{h.Promised, h.Beside, h.Field}
	d.dirHash, d.listing = in.DirHash, files
	in.Size, in.Files = size, jsonFiles(files)
	d.Size, d.SHA256, d.Promised, d.Format, d.Harmless, d.Unlooked = size, in.SHA256, h.Promised, in.Format, in.Harmless, in.Unlooked
	d.Verified, d.Totals, d.openings = in.Bodies == "verified", Totals(in.Totals), in.Opens
	for _, r := range in.Refusals {
		one := Refusal{Rule: r.Rule, Group: r.Group, Class: class, Where: r.Where, Off: wire.NoOffset, Text: r.Text}
		if r.Offset != nil {
			one.Off = *r.Offset
		}
		d.refusals = append(d.refusals, one)
	}
	if !ok {
		d.Err = &inside{elsewhere{class, in.Refusals[0].Text}}
	}
	v := d.conclude(true)
	// This process writes the members that it knows itself, each once.
	in.Class, in.Exit, in.Status, in.Accepted = v.Class().String(), v.Class().ExitCode(), v.Class().HTTPStatus(), v.Accepted()
	in.Acceptance, _ = v.Acceptance()
	v.remote, err = json.Marshal(in)
	return v, err
}

// names returns the name that the verdict is about.
func (in *jsonVerdict) names() string {
	if in.NameBase64 != nil {
		return string(in.NameBase64)
	}
	return string(in.Name)
}

// elsewhere is a refusal by another process.
type elsewhere struct {
	class wire.Class
	text  string
}

func (e elsewhere) Error() string     { return e.text }
func (e elsewhere) Class() wire.Class { return e.class }
