package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	base := make(count, len(columns()))
	for i := range base {
		base[i] = 100
	}
	grown := slices.Clone(base)
	for i, col := range columns() {
		switch col.name {
		case "goroutines":
			grown[i] = 112 // tolerated
		case "mounts":
			grown[i] = 101
		}
	}
	if err := verdict([]count{base, base}, nil); err != nil {
		t.Error(err)
	}
	err := verdict([]count{base, grown}, nil)
	if err == nil || !strings.Contains(err.Error(), "mounts grew from 100 to 101") || strings.Contains(err.Error(), "goroutines") {
		t.Errorf("%v, want that mounts grew and nothing else", err)
	}
	if err := verdict([]count{grown, base}, nil); err != nil {
		t.Error(err)
	}
	if err := verdict([]count{base, base}, []error{errors.New("pod x does not end")}); err == nil {
		t.Error("a pod that does not end is no failure")
	}
	// The memory may grow in the first half.
	young := slices.Clone(base)
	for i, col := range columns() {
		if col.filled {
			young[i] = 50
		}
	}
	if err := verdict([]count{young, base, base}, nil); err != nil {
		t.Error(err)
	}
	if err := verdict([]count{young, young, base}, nil); err == nil || !strings.Contains(err.Error(), "RSS") {
		t.Errorf("%v, want that the memory grew", err)
	}
}
