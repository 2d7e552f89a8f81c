package agent_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// The runtime writes a checkpoint below the root directory, where only root can read.
func TestCheckpoint(t *testing.T) {
	h := newHost(t, nil)
	port := fmt.Sprint(freePort(t))
	n := run(t, h.config("--anonymous-auth=true", "--authorization-mode", "AlwaysAllow", "--address", "127.0.0.1", "--port", port, "--cert-dir", filepath.Join(h.dir, "pki")))
	pod := podOf("web")
	n.source.Set(pod)
	n.until("start", milestone("started", pod))

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://127.0.0.1:"+port+"/checkpoint/"+pod.Namespace+"/"+pod.Name+"/"+pod.Spec.Containers[0].Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []string }
	if err := json.Unmarshal(body, &list); err != nil || res.StatusCode != http.StatusOK || len(list.Items) != 1 {
		t.Fatalf("%d, %q, %v", res.StatusCode, body, err)
	}
	dir := filepath.Join(h.dir, "root", "checkpoints")
	if _, err := os.Stat(list.Items[0]); err != nil || filepath.Dir(list.Items[0]) != dir {
		t.Errorf("%s: %v, want a file in %s", list.Items[0], err, dir)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v, want mode 0700", info, err)
	}
	n.end()
}

func TestNoCheckpoints(t *testing.T) {
	h := newHost(t, nil)
	run(t, h.config("--feature-gates", "ContainerCheckpoint=false")).end()
	if _, err := os.Stat(filepath.Join(h.dir, "root", "checkpoints")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory exists without its feature gate: %v", err)
	}
}
