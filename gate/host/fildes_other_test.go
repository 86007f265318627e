//go:build !linux && !darwin

package host_test

var systemSurfaces []surface
