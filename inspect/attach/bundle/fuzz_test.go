package bundle_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
	"github.com/kubeloupe/kubeloupe/trace"
)

// drainAll reads a source to its end.
func drainAll(t *testing.T, s *bundle.Source) {
	t.Helper()
	defer s.Close()
	for buf := make([]trace.Record, 0, 64); ; {
		_, _, err := s.Next(t.Context(), buf)
		if errors.Is(err, io.EOF) {
			bundle.SeenBy(s.Told())
			bundle.Brief(s.Told())
			return
		}
		if err != nil {
			return
		}
	}
}

// FuzzTar reads an archive that is given whole, and one in which a file has a name and a content, beside the same file in a directory.
func FuzzTar(f *testing.F) {
	f.Add([]byte("x"), "var/log/kubelet.log", []byte("I1122 08:38:19.533699   30016 kubelet.go:2760] \"SyncLoop ADD\" source=\"file\" pods=[\"shop/a\"]\n"))
	f.Add([]byte("ustar"), "../../etc/kubelet.log.1", []byte("time=\"2026-01-02T03:04:05Z\" level=info msg=\"RunPodSandbox for name:\\\"a\\\"\"\n"))
	f.Add([]byte{}, "a/pods.json", []byte(`{"kind":"PodList","items":[]}`))
	f.Fuzz(func(t *testing.T, whole []byte, name string, content []byte) {
		if s, err := bundle.OpenReader(t.Context(), bytes.NewReader(whole), bundle.Options{}); err == nil {
			drainAll(t, s)
		}
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}) != nil {
			return
		}
		w.Write(content)
		w.Close()
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir) // where archives are unpacked
		if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "in", "x.tar")
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := bundle.Open(t.Context(), []string{file}, bundle.Options{}); err == nil {
			drainAll(t, s)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 1 {
			t.Errorf("temporary files are left: %v, %v", left, err)
		}
	})
}
