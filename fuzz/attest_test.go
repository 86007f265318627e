package fuzz_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// FuzzAttest opens any text as a signed envelope: one that opens is the statement that the
// key signed, to its last byte, and every other error has a class.
func FuzzAttest(f *testing.F) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	statement := []byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"m","digest":{"sha256":"00"}}],"predicateType":"p","predicate":{}}`)
	envelope, err := attest.Sign(statement, key)
	if err != nil {
		f.Fatal(err)
	}
	other, err := attest.Sign([]byte("{}"), ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize)))
	if err != nil {
		f.Fatal(err)
	}
	bundle := append(append([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","dsseEnvelope":`), bytes.TrimSpace(envelope)...), '}')
	swapped := bytes.Replace(envelope, []byte(base64.StdEncoding.EncodeToString(statement)), []byte(base64.StdEncoding.EncodeToString([]byte("{}"))), 1)
	for _, seed := range [][]byte{envelope, other, bundle, swapped, append(envelope, envelope...), envelope[:len(envelope)/2], []byte("{}"), []byte("null"), nil} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := attest.Open(text, key.Public())
		if err != nil {
			if c := wire.ClassOf(err); c == wire.OK || c == wire.Internal || got != nil {
				t.Fatalf("class %v: %v, %q", c, err, got)
			}
			return
		}
		if !bytes.Equal(got, statement) {
			t.Fatalf("opened %q, which was not signed", got)
		}
		if !json.Valid(text) {
			t.Fatalf("opened what is no JSON: %q", text)
		}
		if _, err := attest.Parse(got); wire.ClassOf(err) == wire.Internal {
			t.Fatal(err)
		}
	})
}
