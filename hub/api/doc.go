// Package api serves the verdicts of a fleet over HTTP, and accepts revisions to be judged.
//
//	POST /v1/repos              a manifest of a revision: its verdict, or what is missing for one
//	PUT  /v1/blobs/SHA256       a content of a manifest
//	GET  /v1/repos/NAME@REVISION  what is known of a revision (NAME alone: of the newest)
//	GET  /v1/verdicts/SHA256    what is known of a content
//
// # Only 200 is an acceptance
//
// A revision that is accepted is answered with 200, and nothing else that asks for a verdict
// is. A refusal has the status of its class, a manifest whose contents are missing has 409 and
// lists them, a revision that waits has 503 with Retry-After. PUT answers 201: the content is
// stored, but not judged. All other answers than 200 are application/problem+json.
//
// # Who may ask
//
// A token has a tenant and roles: submit sends manifests and contents, read asks for verdicts,
// operate asks about all tenants. A tenant learns of a content only if it has sent its bytes
// itself, or if anybody can have it, and then from its own revisions alone: whether another tenant
// has a content, and under which names, is answered by neither a status, a list nor a verdict.
//
// # Limits
//
// A manifest has at most MaxFiles files and MaxManifest bytes, a content MaxFile bytes, the
// contents of a tenant TenantBytes. Bodies come at MinRate at least.
package api
