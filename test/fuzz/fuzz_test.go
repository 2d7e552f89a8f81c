package main

import (
	"bytes"
	"regexp"
	"slices"
	"testing"
)

func TestRead(t *testing.T) {
	r := read(bytes.NewBufferString("fuzz: elapsed: 0s, gathering baseline coverage: 0/55 completed\nfuzz: elapsed: 24s, execs: 80794 (3669/sec), new interesting: 38 (total: 55)\n" +
		"--- FAIL: FuzzX (2.00s)\n    Failing input written to testdata/fuzz/FuzzX/0123\n"))
	if want := (result{executions: 80794, fresh: 38, text: "FAILED, see testdata/fuzz/FuzzX/0123"}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}

func TestFind(t *testing.T) {
	t.Chdir("../..")
	all, err := find(t.Context(), regexp.MustCompile(`Tail$|inspect/export.*FuzzText`))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range all {
		names = append(names, a.String())
	}
	if want := []string{"agent/logs.FuzzTail", "inspect/export.FuzzText"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}
