package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var etcdURL = regexp.MustCompile(`--listen-client-urls=(http://[0-9.:]+)`)

// compact makes etcd forget all but the present.
func (b *bench) compact(t *testing.T) {
	t.Helper()
	var url string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		data, _ := os.ReadFile(f)
		if m := etcdURL.FindSubmatch(data); m != nil && bytes.Contains(data, []byte(b.Dir+"/")) {
			url = string(m[1])
		}
	}
	// etcd's gRPC gateway.
	ask := func(path, body string) (answer struct{ Header struct{ Revision string } }) {
		resp, err := http.Post(url+"/v3/kv/"+path, "application/json", bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("etcd %s: %s, %v", path, resp.Status, err)
		}
		return answer
	}
	revision := ask("range", `{"key":"AA==","limit":1}`).Header.Revision
	ask("compaction", fmt.Sprintf(`{"revision":%q,"physical":true}`, revision))
}
