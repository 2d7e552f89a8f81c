package agent_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
)

// The agent's final error quotes no credentials, wherever they are from: it goes to a terminal or a journal.
func TestLastErrorHasNoSecrets(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401,"message":"who is ` + r.Header.Get("Authorization") + `?"}`))
	}))
	defer server.Close()
	h := newHost(t, map[string]sim.Latency{})
	boot := filepath.Join(h.dir, "boot")
	text := `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {insecure-skip-tls-verify: true, server: "` + server.URL + `"}}], users: [{name: u, user: {token: abcdef.secret-of-boot}}],
contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`
	if err := os.WriteFile(boot, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := h.config("--kubeconfig", filepath.Join(h.dir, "kubeconfig"), "--bootstrap-kubeconfig", boot, "--cert-dir", filepath.Join(h.dir, "pki"))
	err := prepare(t, cfg).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "who is Bearer [redacted]?") || strings.Contains(err.Error(), "secret-of-boot") {
		t.Errorf("error %v, want the server's without the token", err)
	}
}
