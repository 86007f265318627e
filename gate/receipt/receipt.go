package receipt

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// The types of the statement.
const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://github.com/anamnesis-go/anamnesis/receipt/v1"
)

// dirHash is in-toto's name of the digest of a folder.
const dirHash = "dirHash"

// Bounds of what is read.
const (
	MaxBytes           = 16 << 10 // of an envelope
	MinNonce, MaxNonce = 8, 128   // characters
)

// skew is how far the clock of a gate may be ahead.
const skew = time.Minute

// A Receipt is what a gate said. Reading one decides nothing: [Check] does.
type Receipt struct {
	SHA256  string `json:"-"` // in hex; "" of a folder, and if a file was refused before all of it had come
	DirHash string `json:"-"` // of a folder, as [gate.DirHash] computes it
	// Name, Promised and Beside are the question: what the gate was told about the file, see
	// [gate.Hint]. Some bytes are accepted by one name and refused by another.
	Name     string `json:"name"`
	Promised string `json:"promised"`
	Beside   bool   `json:"beside"`
	Accepted bool   `json:"accepted"`
	Class    string `json:"class"`
	Size     int64  `json:"size"`
	Policy   string `json:"policy"` // its digest, as amn policy check prints it
	Rules    string `json:"rules"`  // their digest
	Version  string `json:"version"`
	Nonce    string `json:"nonce"`
	// Issued and Expires are when the receipt begins and ceases to be valid.
	Issued  time.Time `json:"issued"`
	Expires time.Time `json:"expires"`
}

type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Receipt   `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// A Signer signs receipts.
type Signer struct {
	key    ed25519.PrivateKey
	window time.Duration
	now    func() time.Time
}

// NewSigner returns a signer with an Ed25519 key in PEM, as openssl genpkey -algorithm
// ed25519 writes it. Its receipts are good for the window, by the clock now.
func NewSigner(pem []byte, window time.Duration, now func() time.Time) (*Signer, error) {
	signer, err := attest.PrivateKey(pem)
	if err != nil {
		return nil, err
	}
	key, ok := signer.(ed25519.PrivateKey)
	if !ok {
		return nil, wire.ErrUsage.Errorf("a receipt is signed with an Ed25519 key, and this is another (openssl genpkey -algorithm ed25519 writes one)")
	}
	if window <= 0 {
		return nil, wire.ErrUsage.Errorf("a receipt that is valid for %s is never valid", window)
	}
	if now == nil {
		return nil, wire.ErrUsage.Errorf("a receipt needs a clock for its date")
	}
	return &Signer{key, window, now}, nil
}

// PublicKey reads an Ed25519 key in PEM, as openssl pkey -pubout writes it.
func PublicKey(pem []byte) (ed25519.PublicKey, error) {
	public, err := attest.PublicKey(pem)
	if err != nil {
		return nil, err
	}
	key, ok := public.(ed25519.PublicKey)
	if !ok {
		return nil, wire.ErrUsage.Errorf("the key is not an Ed25519 key")
	}
	return key, nil
}

// Sign returns the envelope about a verdict, in answer to a caller's nonce, which may be
// empty. It says accepted only of a verdict with an acceptance.
func (s *Signer) Sign(v *gate.Verdict, nonce string) ([]byte, error) {
	if s == nil || s.now == nil {
		return nil, wire.ErrInternal.Errorf("there is no key to sign a receipt with")
	}
	if nonce != "" && !IsNonce(nonce) {
		return nil, wire.ErrUsage.Errorf("%s is not a nonce", wire.Quote(nonce))
	}
	if v.OfField() {
		return nil, wire.ErrUsage.Errorf("a receipt is about a file, and the verdict about the value of a field of a form")
	}
	policy, rules, version, err := v.JudgedBy()
	if err != nil {
		return nil, err
	}
	now := s.now().UTC().Truncate(time.Second)
	name, promised, beside := v.Asked()
	r := Receipt{
		Name: wire.Whole(name), Promised: wire.Whole(promised), Beside: beside,
		Class: v.Class().String(), Size: v.Size, Policy: policy, Rules: rules, Version: version, Nonce: nonce,
		Issued: now, Expires: now.Add(s.window).Truncate(time.Second),
	}
	digest := map[string]string{"sha256": v.SHA256, dirHash: v.DirHash()}
	switch a, ok := v.Acceptance(); {
	case ok:
		r.Accepted, r.Size, digest = true, a.Size(), map[string]string{"sha256": a.SHA256(), dirHash: a.DirHash()}
	case v.Accepted() || v.Class() == wire.OK:
		return nil, wire.ErrInternal.Errorf("the verdict accepts no bytes that it could name")
	}
	st := statement{statementType, []subject{}, predicateType, r}
	maps.DeleteFunc(digest, func(_, sum string) bool { return sum == "" })
	if len(digest) > 0 {
		st.Subject = []subject{{r.Name, digest}}
	}
	text, err := json.Marshal(st)
	if err != nil {
		return nil, err
	}
	return attest.Sign(text, s.key)
}

// IsNonce reports whether a text may be a nonce.
func IsNonce(s string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	return MinNonce <= len(s) && len(s) <= MaxNonce && strings.Trim(s, letters) == ""
}

// NewNonce returns a new random nonce.
func NewNonce() string { return strings.ToLower(rand.Text()) }

// Open verifies the signature of an envelope, and returns what it says, whether the file was
// accepted or not, and whether it is still good or not.
func Open(envelope []byte, key ed25519.PublicKey) (Receipt, error) {
	if len(envelope) > MaxBytes {
		return Receipt{}, wire.ErrUnsupported.Errorf("a receipt of %d bytes", len(envelope))
	}
	if len(key) != ed25519.PublicKeySize {
		return Receipt{}, wire.ErrUsage.Errorf("a receipt is checked with an Ed25519 key")
	}
	text, err := attest.Open(envelope, key)
	if err != nil {
		return Receipt{}, err
	}
	var s statement
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Receipt{}, wire.ErrSyntax.Errorf("no receipt: %s", wire.Text(err.Error(), 256))
	}
	if _, err := d.Token(); err != io.EOF {
		return Receipt{}, wire.ErrTrailing.Errorf("after the receipt")
	}
	if s.Type != statementType || s.PredicateType != predicateType || len(s.Subject) > 1 {
		return Receipt{}, wire.ErrUnsupported.Errorf("no receipt, but a statement about %s", wire.Quote(s.PredicateType))
	}
	r := s.Predicate
	if len(s.Subject) == 1 {
		r.SHA256, r.DirHash = s.Subject[0].Digest["sha256"], s.Subject[0].Digest[dirHash]
	}
	if len(s.Subject) == 1 && s.Subject[0].Name != r.Name || r.Accepted != (r.Class == wire.OK.String()) || r.Accepted && r.SHA256 == "" && r.DirHash == "" || r.SHA256 != "" && r.DirHash != "" {
		return Receipt{}, wire.ErrSyntax.Errorf("a receipt that contradicts itself")
	}
	return r, nil
}

// Want is what a receipt must be about: the question that the host has asked, and what it has. A
// zero value is no question that a receipt could answer. Promised, Beside and Rules may be left
// zero: then the receipt is refused if the gate was told of a promise, or to take a file that need
// not be a model.
type Want struct {
	// Name is the name that the gate was told, without folders. Of a form with several files it is
	// the one that the request states, or "folder".
	Name     string
	Promised string // the format that the gate was told
	Beside   bool   // whether the gate was told that the file need not be a model

	SHA256 [sha256.Size]byte // of the bytes that the host has
	// DirHash is the digest of the folder that the host has, as [gate.DirHash] computes it, and
	// takes the place of SHA256.
	DirHash string
	Size    int64  // of the file, or of all files of the folder
	Nonce   string // that the host sent with the file
	Policy  string // digest of the policy that the host expects
	Rules   string // digest of the rules, if the host expects certain ones
	Now     time.Time
}

// Check returns what a receipt says if it accepts what is wanted. Any other receipt is an
// error: of other bytes, another policy, another nonce or key, one that is not good now, and
// a refusal.
func Check(envelope []byte, key ed25519.PublicKey, want Want) (Receipt, error) {
	if want.Name == "" || !IsNonce(want.Nonce) || want.Policy == "" || want.Now.IsZero() || want.Size < 0 || (want.SHA256 == [sha256.Size]byte{}) != (want.DirHash != "") {
		return Receipt{}, wire.ErrUsage.Errorf("a receipt is checked for the name, the digest and the size of a file or a folder, a nonce, the digest of a policy and a time")
	}
	r, err := Open(envelope, key)
	if err != nil {
		return Receipt{}, err
	}
	no := func(what string) (Receipt, error) { return Receipt{}, wire.ErrForbidden.Errorf("the receipt %s", what) }
	switch {
	case r.Nonce != want.Nonce:
		return no("answers another question: its nonce is " + wire.Quote(r.Nonce))
	case !r.Accepted:
		return no("is about a file that is refused: " + wire.Clean(r.Class, 32))
	case want.DirHash != "" && (r.DirHash != want.DirHash || r.Size != want.Size):
		return no("is about another folder")
	case want.DirHash == "" && (r.SHA256 != hex.EncodeToString(want.SHA256[:]) || r.Size != want.Size):
		return no("is about another file")
	case r.Name != want.Name:
		return no("is about a file that was called " + wire.Quote(r.Name))
	case r.Promised != want.Promised:
		return no("is about a file that was promised to be " + wire.Quote(r.Promised))
	case r.Beside != want.Beside:
		return no("answers another question: whether the file may be none that is a model (beside)")
	case r.Policy != want.Policy:
		return no("is by another policy")
	case want.Rules != "" && r.Rules != want.Rules:
		return no("is by other rules, or by another version")
	case r.Issued.IsZero() || r.Expires.IsZero() || r.Issued.After(want.Now.Add(skew)):
		return no("is from the future: " + r.Issued.UTC().Format(time.RFC3339))
	case !want.Now.Before(r.Expires):
		return no("is too old: it was good until " + r.Expires.UTC().Format(time.RFC3339))
	}
	return r, nil
}
