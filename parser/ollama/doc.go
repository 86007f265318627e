// Package ollama finds the files of a model in an ollama store.
//
// A name such as "ollama:llama3.2:1b" or "ollama:hf.co/user/repo:Q4_K_M" leads
// to a manifest, and the manifest to blobs. Nothing outside of the store is opened:
// a name or a digest that could lead out of it is refused, and a blob must be a
// regular file of the size that the manifest states.
//
// Order: name (split from the right, checked part by part), manifest (at most
// [MaxManifest] bytes of strict JSON), layers (media type, digest, size), blobs.
// Every step walks once through a list whose length the JSON bounds.
//
// Limits:
//
//	host 350 bytes, other parts of a name 80     ollama's own rule
//	manifest 1 MiB                               about a thousand times a usual one
//	layers                                       MaxItems of the policy
//
// Not supported: pull, push, adapters and projectors as separate models, partial
// downloads.
//
// The layout is that of ollama 0.17: manifests/HOST/NAMESPACE/MODEL/TAG and
// blobs/sha256-HEX, or blobs/sha256:HEX in stores that were not migrated.
package ollama
