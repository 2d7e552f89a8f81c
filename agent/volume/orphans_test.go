package volume

import (
	"fmt"
	"testing"
)

// TestAtFault: if a volume of an unknown pod is still mounted, the verdict names it.
func TestAtFault(t *testing.T) {
	for path, want := range map[string]string{
		"/lib/kubelet/pods/u1/volumes/kubernetes.io~csi/pvc-1/mount": "pvc-1",
		"/lib/kubelet/pods/u1/volume-subpaths/data/c/0":              "",
		"/lib/kubelet/pods/u2/volumes/kubernetes.io~csi/pvc-1/mount": "",
	} {
		if got := atFault(fmt.Errorf("clean: %w", &mountedError{path: path, uid: "u1"})); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if got := atFault(fmt.Errorf("clean: %w", &Error{Op: "teardown", Volume: "data"})); got != "data" {
		t.Errorf("got %q, want data", got)
	}
}
