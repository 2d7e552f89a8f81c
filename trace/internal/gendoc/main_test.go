package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestCommittedPageIsCurrent(t *testing.T) {
	want, err := generate("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("docs/events.md is not current: go generate ./trace (-committed +generated)\n%s", diff)
	}
	for _, kind := range trace.Kinds() {
		if !strings.Contains(want, "\n### "+kind+"\n") {
			t.Errorf("no section on %s", kind)
		}
	}
	if !strings.Contains(want, "| `other-pull` | ") {
		t.Error("no wait kinds")
	}
}

func TestBadSource(t *testing.T) {
	if _, err := generate("."); err == nil || !strings.Contains(err.Error(), "of package main, want trace") {
		t.Errorf("err %v", err)
	}
	if _, err := generate("no/such"); err == nil {
		t.Error("no error for a missing directory")
	}
}
