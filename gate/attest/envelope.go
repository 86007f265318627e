package attest

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	_ "crypto/sha512" // of P-384 and P-521
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// payloadType is the type of in-toto statements in an envelope.
const payloadType = "application/vnd.in-toto+json"

// MaxBytes bounds an envelope that is read.
const MaxBytes = 64 << 20

// ErrSignature means that the envelope is not signed with the key.
var ErrSignature = wire.ErrForbidden.Errorf("the signature is not that of this key")

// An envelope is a DSSE envelope; https://github.com/secure-systems-lab/dsse has the
// protocol.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     []byte      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// pae returns the pre-authentication encoding, which is what is signed.
func pae(kind string, payload []byte) []byte {
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(kind), kind, len(payload)), payload...)
}

// Sign puts a statement into an envelope. The key's identifier is the SHA-256 of its
// public half in DER.
func Sign(statement []byte, key crypto.Signer) ([]byte, error) {
	sig, err := sign(key, pae(payloadType, statement))
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(der)
	text, err := json.Marshal(envelope{payloadType, statement, []signature{{hex.EncodeToString(id[:]), sig}}})
	return append(text, '\n'), err
}

// Open verifies an envelope and returns its statement. It also takes a Sigstore bundle,
// in which Model Signing keeps its envelope.
func Open(text []byte, key crypto.PublicKey) ([]byte, error) {
	if len(text) > MaxBytes {
		return nil, wire.ErrUnsupported.Errorf("an envelope of %d bytes", len(text))
	}
	var outer struct {
		envelope

		MediaType string    `json:"mediaType"`
		Inner     *envelope `json:"dsseEnvelope"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&outer); err != nil {
		return nil, wire.ErrSyntax.Errorf("no envelope: %s", wire.Text(err.Error(), 256))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, wire.ErrTrailing.Errorf("after the envelope")
	}
	e := outer.envelope
	if outer.Inner != nil {
		e = *outer.Inner
	}
	if e.PayloadType != payloadType || len(e.Signatures) == 0 {
		return nil, wire.ErrUnsupported.Errorf("an envelope of %s with %d signatures: this reads %s", wire.Quote(e.PayloadType), len(e.Signatures), payloadType)
	}
	message := pae(e.PayloadType, e.Payload)
	for _, s := range e.Signatures {
		if verify(key, message, s.Sig) {
			return e.Payload, nil
		}
	}
	return nil, ErrSignature
}
