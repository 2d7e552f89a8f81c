package bundle_test

import (
	"archive/tar"
	"bytes"
	"runtime"
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
	s, err := bundle.OpenReader(t.Context(), &b, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	drainAll(t, s)
	if notes := strings.Join(s.Told().Notes, "\n"); !strings.Contains(notes, "files left out because they are too large: 1") {
		t.Errorf("the notes are %q", notes)
	}
}

// TestManyDocuments reads a dump between whose objects a container's log has lines of JSON. None of them costs a buffer.
func TestManyDocuments(t *testing.T) {
	const lines, most = 20_000, 256 << 20
	text := events + strings.Repeat("{\"level\": \"info\", \"msg\": \"hello\"}\n{ no object\nhello\n", lines) + pods
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := bundle.OpenReader(t.Context(), strings.NewReader(text), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	drainAll(t, s)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d MiB were allocated for %d lines", n>>20, 3*lines)
	}
	if told := s.Told(); told.Events != 1 || told.Pods != 3 || len(told.Notes) > 0 {
		t.Errorf("told %+v", told)
	}
}
