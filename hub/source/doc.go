// Package source finds repositories, and opens their files.
//
// A folder is a repository if it holds files itself; otherwise the folders below it are asked
// the same, so that /srv/models with OWNER/NAME/model.safetensors has a repository for each
// OWNER/NAME. Links to folders are not entered. A pattern such as /srv/models/* names the
// repositories themselves.
//
// A revision of a folder is a digest of what the system keeps about its files: names, sizes and
// the times of their last change. It says when to look again, and nothing about the contents:
// those have their SHA-256 once they are judged.
package source
