package ginkgoreport

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the focus left out is not in the list; what skipped itself is, and a suite that could not begin.
func TestRead(t *testing.T) {
	const report = `[{"SpecReports": [
		{"LeafNodeType": "BeforeSuite", "State": "passed"},
		{"LeafNodeType": "SynchronizedBeforeSuite", "State": "failed", "Failure": {"Message": "no node"}},
		{"ContainerHierarchyTexts": ["[sig-node] Pods"], "LeafNodeType": "It", "LeafNodeText": "run", "State": "failed",
		 "RunTime": 1500000000, "Failure": {"Message": "no pod"}},
		{"ContainerHierarchyTexts": ["[sig-apps] Job"], "LeafNodeType": "It", "LeafNodeText": "runs", "State": "passed"},
		{"LeafNodeType": "It", "LeafNodeText": "not asked for", "State": "skipped"},
		{"LeafNodeType": "It", "LeafNodeText": "zone", "State": "skipped", "Failure": {"Message": "no such cloud"}}
	]}]`
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []Test{
		{Name: "SynchronizedBeforeSuite", State: "failed", Message: "no node"},
		{Name: "[sig-apps] Job runs", State: "passed"},
		{Name: "[sig-node] Pods run", State: "failed", Seconds: 1.5, Message: "no pod"},
		{Name: "zone", State: "skipped", Message: "no such cloud"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil {
		t.Error("a broken report is read")
	}
}
