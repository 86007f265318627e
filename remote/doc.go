// Package remote reads models where they are published, piece by piece: in a repository
// of the Hugging Face hub, in a bucket, in a registry of artifacts, or as a file at an
// https address. Nothing is fetched but what a parser asks for. [Open] lists the forms
// of addresses.
//
// An address comes from whoever names the model, so a program must not be made to fetch
// for them: private, loopback and link-local addresses are refused when a connection is
// made, after names were resolved ([Options.AllowPrivate] lifts it); redirects go to
// https and to hosts of a list; tokens, passwords and signatures go to the host that they
// are for. A file that changes while it is read is an error. Requests and bytes are
// charged to the account (MaxRequests, MaxFetched), and so is what is kept in memory.
//
// # Requests
//
// A repository is listed once. The beginning of a file and its end are asked for together
// where the server answers with two ranges; shards eight at a time; and who reads on is
// given one answer that lasts, so that the header of a GGUF with a vocabulary takes two
// requests and a body one or a few.
//
// # Not supported
//
// Servers without ranges. Keys of s3: that a program or a metadata service hands out.
// What is read of a blob by ranges cannot be held against its digest.
package remote
