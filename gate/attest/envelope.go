package attest

import (
	"context"
	"crypto"
	"crypto/sha256"
	_ "crypto/sha512" // of P-384 and P-521
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
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

// IsSignature reports whether a text is an envelope, or a bundle with one, and nothing else:
// strict JSON with the members of these, each once. No loader takes anything from it,
// whatever its name.
func IsSignature(text []byte) bool {
	_, err := parse(text)
	return err == nil && len(text) <= MaxBytes
}

// parse reads an envelope, or the one in a Sigstore bundle.
func parse(text []byte) (envelope, error) {
	var own, inner envelope
	bundle := false
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	err := strictjson.Decode(b, strictjson.Text{Format: "envelope", Body: string(text)}, func(d *strictjson.Decoder) error {
		return d.Object(func(name string) error {
			switch name {
			case "dsseEnvelope":
				bundle = true
				return d.Object(func(name string) error { return inner.member(d, name) })
			case "mediaType", "verificationMaterial":
				return d.Skip()
			}
			return own.member(d, name)
		})
	})
	switch {
	case err != nil:
		return own, err
	case bundle && (own.PayloadType != "" || own.Payload != nil || own.Signatures != nil):
		return own, wire.ErrSyntax.Errorf("an envelope and a bundle at once")
	case bundle:
		own = inner
	}
	if own.PayloadType != payloadType || len(own.Signatures) == 0 {
		return own, wire.ErrUnsupported.Errorf("an envelope of %s with %d signatures: this reads %s", wire.Quote(own.PayloadType), len(own.Signatures), payloadType)
	}
	return own, nil
}

// maxSignatures bounds the signatures of an envelope.
const maxSignatures = 64

// member reads a member of an envelope.
func (e *envelope) member(d *strictjson.Decoder, name string) (err error) {
	switch name {
	case "payloadType":
		e.PayloadType, err = d.String()
	case "payload":
		e.Payload, err = decoded(d)
	case "signatures":
		err = d.Array(func(i int) error {
			if i == maxSignatures {
				return d.Fail("signatures", wire.ErrUnsupported.Errorf("more than %d", maxSignatures))
			}
			var s signature
			err := d.Object(func(name string) (err error) {
				switch name {
				case "keyid":
					s.KeyID, err = d.String()
				case "sig":
					s.Sig, err = decoded(d)
				default:
					err = unknown(d, name)
				}
				return err
			})
			e.Signatures = append(e.Signatures, s)
			return err
		})
	default:
		err = unknown(d, name)
	}
	return err
}

func unknown(d *strictjson.Decoder, name string) error {
	return d.FailAt("", d.NameOff(), wire.ErrUnsupported.Errorf("no envelope has the member %s", wire.Quote(name)))
}

// decoded reads base64.
func decoded(d *strictjson.Decoder) ([]byte, error) {
	text, err := d.String()
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, d.Fail("", wire.ErrSyntax.Errorf("a member that is not base64"))
	}
	return raw, nil
}

// Open verifies an envelope and returns its statement. It also takes a Sigstore bundle,
// in which Model Signing keeps its envelope.
func Open(text []byte, key crypto.PublicKey) ([]byte, error) {
	if len(text) > MaxBytes {
		return nil, wire.ErrUnsupported.Errorf("an envelope of %d bytes", len(text))
	}
	e, err := parse(text)
	if err != nil {
		return nil, err
	}
	message := pae(e.PayloadType, e.Payload)
	for _, s := range e.Signatures {
		if verify(key, message, s.Sig) {
			return e.Payload, nil
		}
	}
	return nil, ErrSignature
}
