// Package comfy is what ComfyUI describes in a file's metadata or beside a weight: codes of
// other schemes in layouts of its own.
package comfy
