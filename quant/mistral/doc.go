// Package mistral is FP8 under the names in Mistral's own files.
package mistral
