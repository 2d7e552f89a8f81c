package bundle_test

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
)

// TestLarge has a file in an archive that is larger than what is taken out of one: that is said.
func TestLarge(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	const line = "I1122 08:38:19.533699   30016 kubelet.go:2760] \"SyncLoop ADD\" source=\"file\" pods=[\"shop/a\"]\n"
	if err := w.WriteHeader(&tar.Header{Name: "var/log/kubelet.log", Mode: 0o600, Size: int64(len(line))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(line)); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteHeader(&tar.Header{Name: "var/log/kubelet.log.1", Mode: 0o600, Size: 3 << 30}); err != nil { // its content is missing
		t.Fatal(err)
	}
	s, err := bundle.OpenReader(&b, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	drainAll(t, s)
	if notes := strings.Join(s.Told().Notes, "\n"); !strings.Contains(notes, "files left out because they are too large: 1") {
		t.Errorf("the notes are %q", notes)
	}
}
