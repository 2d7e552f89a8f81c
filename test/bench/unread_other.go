//go:build !linux

package main

// unread asks a terminal how many bytes it holds: FIONREAD of the BSDs.
const unread = 0x4004667f
