package kubeletapi

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKubeconfig takes the user of the current context, and files beside the kubeconfig.
func TestKubeconfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("token", "of-a-file\n")
	const users = `users: [{name: a, user: {token: of-a}}, {name: b, user: {token: of-b}}, {name: c, user: {tokenFile: token}}, {name: d, user: {client-certificate: d.crt, client-key: d.key}}, {name: e, user: {username: x}}]
contexts: [{name: one, context: {user: a}}, {name: two, context: {user: b}}, {name: three, context: {user: c}}, {name: four, context: {user: d}}, {name: five, context: {user: e}}]
`
	for _, c := range []struct{ current, token, err string }{
		{current: "one", token: "of-a"},
		{current: "two", token: "of-b"},
		{current: "three", token: "of-a-file"},
		{current: "", token: "of-a"},
		{current: "four", err: filepath.Join(dir, "d.crt")},
		{current: "five", err: `the user "e" of its current context has neither`},
	} {
		_, token, err := fromKubeconfig(write("config", users+"current-context: "+c.current+"\n"))
		if token != c.token || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %q, %v", c.current, token, err)
		}
	}
	if _, _, err := fromKubeconfig(write("config", "users: [secret")); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "is not a kubeconfig") {
		t.Errorf("got %v", err)
	}
}

// TestLargeAnswer says that an answer is too large.
func TestLargeAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, maxAnswer+len(r.URL.RawQuery)))
	}))
	defer s.Close()
	c := &Client{Address: strings.TrimPrefix(s.URL, "http://"), Plain: true}
	if text, err := c.Get(t.Context(), "/pods"); err != nil || len(text) != maxAnswer {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := c.Get(t.Context(), "/pods?x"); err == nil || !strings.Contains(err.Error(), "larger than the limit of 16 MiB") {
		t.Errorf("got %v", err)
	}
}
