package receipt_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/receipt"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A gate signs its verdict about a file, and the host that has the file checks it.
func ExampleCheck() {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		fmt.Println(err)
		return
	}
	signer, err := receipt.NewSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 5*time.Minute, time.Now)
	if err != nil {
		fmt.Println(err)
		return
	}
	g, body, nonce := gate.Gate{Digest: true}, "\x02\x00\x00\x00\x00\x00\x00\x00{}", receipt.NewNonce()
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	v, err := g.Check(b, strings.NewReader(body), int64(len(body)), gate.Hint{Name: "model.safetensors"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Close()
	envelope, err := signer.Sign(v, nonce)
	if err != nil {
		fmt.Println(err)
		return
	}

	expected, err := g.Policy.Digest()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, has := range []string{body, body + " "} {
		want := receipt.Want{Name: "model.safetensors", SHA256: sha256.Sum256([]byte(has)), Size: int64(len(has)), Nonce: nonce, Policy: expected, Now: time.Now()}
		r, err := receipt.Check(envelope, public, want)
		fmt.Println(r.Accepted, err)
	}
	// Output:
	// true <nil>
	// false forbidden: the receipt is about another file
}
