package lab

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestPushPrograms reads an image back from a registry, as containerd does: by its name, then the blobs that its manifest names.
func TestPushPrograms(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("text of a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &Lab{Registry: strings.TrimPrefix(server.URL, "http://")}
	p := Programs{Files: map[string]string{"usr/bin/x": program}, Config: v1.Config{Entrypoint: []string{"/usr/bin/x"}, User: "7"}}
	if err := l.PushPrograms(t.Context(), "some/x:v1", p); err != nil {
		t.Fatal(err)
	}
	var manifest v1.Manifest
	if err := json.NewDecoder(fetch(t, server.URL+"/v2/some/x/manifests/v1")).Decode(&manifest); err != nil {
		t.Fatal(err)
	}
	var config v1.ConfigFile
	if err := json.NewDecoder(fetch(t, server.URL+"/v2/some/x/blobs/"+manifest.Config.Digest.String())).Decode(&config); err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Config.User != "7" || len(config.RootFS.DiffIDs) != 1 || len(manifest.Layers) != 1 || config.RootFS.DiffIDs[0] != manifest.Layers[0].Digest {
		t.Fatalf("config %+v, layers %+v", config, manifest.Layers)
	}
	layer := tar.NewReader(fetch(t, server.URL+"/v2/some/x/blobs/"+manifest.Layers[0].Digest.String()))
	files := map[string]string{}
	for {
		h, err := layer.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(layer)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(text)
		if h.Name == "usr/bin/x" && h.Mode != 0o755 {
			t.Errorf("mode %o", h.Mode)
		}
	}
	if files["usr/bin/x"] != "text of a program" {
		t.Errorf("files %q", files)
	}
	if _, ok := files["usr/bin/"]; !ok {
		t.Errorf("no directory above the program: %q", files)
	}

	p.Files["usr/bin/y"] = program + ".missing"
	if err := l.PushPrograms(t.Context(), "some/x:v2", p); err == nil || !strings.Contains(err.Error(), "some/x:v2") || !strings.Contains(err.Error(), "program.missing") {
		t.Errorf("a program that is missing: %v", err)
	}
	p.Files = nil
	if err := l.PushPrograms(t.Context(), "some/x", p); err == nil || !strings.Contains(err.Error(), "tag") {
		t.Errorf("a name without a tag: %v", err)
	}
	server.Close()
	if err := l.PushPrograms(context.WithoutCancel(t.Context()), "some/x:v3", p); err == nil {
		t.Error("no error without a registry")
	}
}

func fetch(t *testing.T, from string) io.Reader {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, from, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", from, resp.Status)
	}
	return resp.Body
}
