// Package remote reads models where they are published, piece by piece: a file at an
// https address, or a repository of the Hugging Face hub. Nothing is fetched but what a
// parser asks for.
//
// An address comes from whoever names the model, so a program must not be made to fetch
// for them: private, loopback and link-local addresses are refused when a connection is
// made, after names were resolved ([Options.AllowPrivate] lifts it); redirects go to
// https and to hosts of a list; a token goes to the host it is for. A file that changes
// while it is read is an error. Requests and bytes are counted, and what is kept in
// memory is charged to the account.
//
// # Not supported
//
// Servers without ranges, s3:, gs:, oci: and ollama: addresses, proxies.
package remote
