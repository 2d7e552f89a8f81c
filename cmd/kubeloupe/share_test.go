package main

import "testing"

func TestShareOf(t *testing.T) {
	for cpus, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 64: 32} {
		if got := shareOf(cpus); got != want {
			t.Errorf("of %d CPUs %d, want %d", cpus, got, want)
		}
	}
}
