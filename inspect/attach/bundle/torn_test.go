package bundle_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
	"github.com/kubeloupe/kubeloupe/trace"
)

// longLog is a kubelet's log that compresses badly.
func longLog() string {
	var b strings.Builder
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 4000 {
		fmt.Fprintf(&b, "I1123 08:%02d:%02d.000000 1 a.go:1] \"SyncLoop ADD\" source=\"api\" pods=[\"shop/p%d-%x\"]\n", i/60, i%60, i, r.Uint64())
	}
	return b.String()
}

// seenPods is how many pods records say to be seen.
func seenPods(recs []trace.Record) (n int) {
	for i := range recs {
		if m, ok := recs[i].Event.(*trace.Milestone); ok && m.Name == trace.MilestoneSeen {
			n++
		}
	}
	return n
}

// TestTornArchive reads an archive that was cut within a log: what is there of it counts, and it is said that more is missing.
func TestTornArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar.gz")
	pack(t, file, map[string]string{"var/log/kubelet.log": longLog()})
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (*bundle.Source, error){
		"a file": func() (*bundle.Source, error) {
			if err := os.WriteFile(file, text[:len(text)/2], 0o600); err != nil {
				return nil, err
			}
			return bundle.Open(t.Context(), []string{file}, bundle.Options{})
		},
		"standard input": func() (*bundle.Source, error) {
			return bundle.OpenReader(t.Context(), bytes.NewReader(text[:len(text)/2]), bundle.Options{})
		},
	} {
		s, err := open()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		recs, _ := all(t, s)
		if n := seenPods(recs); n < 500 || n > 3500 {
			t.Errorf("%s: %d pods", name, n)
		}
		if notes := strings.Join(s.Told().Notes, "\n"); !strings.Contains(notes, "the archive ends within var/log/kubelet.log") {
			t.Errorf("%s: the notes are %q", name, notes)
		}
	}
}

// TestTornLog reads a compressed log that was cut beside another one: both are read as far as they go.
func TestTornLog(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(longLog())); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "kubelet.log.1.gz", b.String()[:b.Len()/2])
	write(t, dir, "kubelet.log", "I1123 09:59:00.000000 1 a.go:1] \"SyncLoop ADD\" source=\"api\" pods=[\"shop/last\"]\n")
	s := open(t, dir)
	recs, lost := all(t, s)
	if n := seenPods(recs); n < 500 || n > 3500 || lost == 0 || recs[len(recs)-1].At().UTC().Minute() != 59 {
		t.Errorf("%d pods, %d lines are missing, the last record is of %v", n, lost, recs[len(recs)-1].At())
	}
	if notes := strings.Join(s.Told().Notes, "\n"); !strings.Contains(notes, "kubelet.log.1.gz: ") || !strings.Contains(notes, "the rest of it is missing") {
		t.Errorf("the notes are %q", notes)
	}
}
