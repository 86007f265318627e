// Package attest states that a gate has accepted a folder of files, in a form that
// others can check: an in-toto statement about the digest of the files, signed with a
// key.
//
//	files := []attest.File{{Name: "model.safetensors", Sum: sum}}
//	text, err := attest.Result{Name: "model", Files: files, Policy: policyDigest, Time: now, Properties: passed}.Statement()
//	envelope, err := attest.Sign(text, key)
//	...
//	text, err := attest.Open(envelope, public)
//	claim, err := attest.Parse(text)
//	err = claim.Check(files)
//
// # What is stated
//
// The subject is the root digest of OpenSSF Model Signing 1.0 (serialization by
// files, SHA-256): the SHA-256 of the files' digests, sorted by the parts of their
// paths. A model.sig of the same files has the same subject, and [Open] and [Parse] read
// it as well. The predicate is in-toto's Simple Verification Result, version 0.2: the
// verifier, the policy, the time, the properties that hold, and as namedFilesDigest the
// SHA-256 of each name, a zero byte and the digest of its file, in the same order: the
// subject has no names. A link to a folder is there as the digest of where it leads.
//
// # What is beside the model
//
// Model Signing leaves out what belongs to git, so the subject does too. A loader may reach it
// all the same: by a link, a walk, or a name in a text, in one of many spellings. So a result
// covers it besides, as besideFilesDigests: the digest with names of each of .git,
// .gitattributes, .github and .gitignore. No search of texts is needed then. The names of all
// files are listed, to say what has changed.
//
// A result leaves out only model.sig, and [IsSignature] distinguishes a signature, which no loader
// uses, from a model of that name. A signature of Model Signing leaves out what [Ignored] says. A
// program that relies on a signature must check that no loader reaches these files, as amn does.
//
// # What is signed
//
// The envelope is DSSE 1.0. Keys are Ed25519, or ECDSA over P-256, P-384 and P-521
// with SHA-256, SHA-384 and SHA-512, in PEM as openssl writes them.
//
// # Not supported
//
// Signatures without a key (Sigstore's certificates and log), keys with a password,
// digests of shards, and hashes other than SHA-256: each is refused by name.
package attest
