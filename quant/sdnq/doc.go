// Package sdnq is SDNQ: integers and FP8, rotated or with a product of low rank.
package sdnq
