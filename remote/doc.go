// Package remote reads models where they are published: in a repository of the Hugging
// Face hub, in a bucket, in a registry of artifacts, or at an https address. It fetches
// only the ranges that a parser reads. [Open] lists the forms of addresses.
//
// An address may come from an attacker who wants a server to fetch for them. So private,
// loopback and link-local addresses are refused at the connection, after names are
// resolved ([Options.AllowPrivate] allows them); redirects lead only to https and to
// listed hosts; tokens, passwords and signatures are sent only to their own host. A file
// that changes while it is read is an error, and so is an answer with a
// Content-Encoding, or a listing whose names cannot all be files of one folder. Requests,
// fetched bytes (MaxRequests, MaxFetched) and cached memory are charged to the account, whose
// deadline covers everything.
//
// A file is named as the clients of its source name it. URLs are made from raw names in one
// function; answers are read so that no two clients could read them differently. A digest that the
// source states is compared when the file has been fetched to its end (tensor.Stated).
//
// # Requests
//
// A repository is listed once. The beginning and the end of a file are fetched together
// if the server answers requests for two ranges. Shards are opened eight at a time. A
// sequential reader continues on one open response, so that the header of a GGUF with a
// vocabulary takes two requests and a body one or a few.
//
// # Not supported
//
// Servers without ranges. Identity tokens of credential helpers: a registry gets a name and a
// password.
package remote
