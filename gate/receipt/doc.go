// Package receipt signs what a gate says about a file, and checks what it said. With a receipt, a
// host that asks a gate over a network has a signed verdict for these bytes, this policy and this
// question, and need not trust the status of an answer.
//
//	nonce := receipt.NewNonce()
//	// PUT /v1/check?nonce=..., and the member "receipt" of the answer
//	_, err := receipt.Check(envelope, key, receipt.Want{
//		Name: "model.pt", SHA256: sha256.Sum256(body), Size: int64(len(body)), Nonce: nonce, Policy: policy, Now: time.Now(),
//	})
//
// # Form
//
// A receipt is a DSSE envelope, signed with Ed25519, of an in-toto statement: the file with
// its SHA-256 as the subject, and a predicate with the question (the name of the file, the format
// that was promised, and whether it need not be a model), the size, the class of the verdict, the
// digests of the policy and the rules, the nonce, and the time for which it is valid. A file
// that is refused before all of it has come has no digest, and its statement no subject.
//
// # Limits
//
// An envelope has at most [MaxBytes] bytes, a nonce from [MinNonce] to [MaxNonce] letters,
// digits and "-._~".
//
// # Concurrent use
//
// A Signer may be used by several goroutines.
package receipt
