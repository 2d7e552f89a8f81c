//go:build !linux

package terminal
