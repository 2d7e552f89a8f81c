package kubeclient

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubeloupe/kubeloupe/agent/redact"
)

// The error about an invalid proxy-url does not quote its user and password, nor do other errors of the file.
func TestLoadQuotesNoCredentials(t *testing.T) {
	for proxy, want := range map[string]string{
		"someone:pass-word-1@proxy:3128":          "proxy-url",
		"http://someone:pass word-1@proxy:3128":   "proxy-url",
		"http://someone:pass-word-1%zz@proxy:31":  "proxy-url",
		"socks9://someone:pass-word-1@proxy:3128": "proxy-url",
	} {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		text := `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://me:word-2@host", proxy-url: "` + proxy + `"}}],
users: [{name: u, user: {token: token-3}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", proxy, err)
			continue
		}
		for _, secret := range []string{"word-1", "word-2", "token-3", "someone"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error quotes %s: %v", proxy, secret, err)
			}
		}
	}
}

// Tokens of a plugin, and later ones of a file, are known before a server can quote them.
func TestShownTokensAreKnown(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "nobody knows "+r.Header.Get("Authorization"), http.StatusForbidden)
	}))
	defer server.Close()
	dir := t.TempDir()
	plugin, file := filepath.Join(dir, "plugin"), filepath.Join(dir, "token")
	script := "#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"of-the-plugin\"}}'\n"
	if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("of-the-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for secret, cfg := range map[string]*rest.Config{
		"of-the-plugin": {ExecProvider: &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: plugin, InteractiveMode: clientcmdapi.NeverExecInteractiveMode}},
		"of-the-file":   {BearerTokenFile: file},
	} {
		cfg.Host = server.URL
		v := redact.NewVault()
		c, err := New(Config{REST: cfg, QPS: 50, Burst: 100, Secrets: v})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Main.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
		if err == nil || !strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the server quotes nothing: %v", secret, err)
			continue
		}
		if shown := v.Text(redact.Node, err.Error()); strings.Contains(shown, secret) {
			t.Errorf("%s is shown: %s", secret, shown)
		}
	}
}
