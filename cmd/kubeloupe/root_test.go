package main

import "testing"

// BenchmarkNewRoot is what each command pays before it begins.
func BenchmarkNewRoot(b *testing.B) {
	for b.Loop() {
		newRoot(streams{})
	}
}
